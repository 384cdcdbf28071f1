"""What switches are told about their buffers: read from vendors' files, explained, advised, and written."""
