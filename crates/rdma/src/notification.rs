//! Notification point: the rules by which a responder sends congestion notification packets (DCQCN, SIGCOMM '15, section 3.2).
