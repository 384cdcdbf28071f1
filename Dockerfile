# Container image of shallows: docker build -t shallows . && docker run --rm -v "$PWD:/work" shallows run scenario.toml
FROM debian:13 AS tools
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        build-essential ca-certificates git make python3 python3-venv rustup \
    && rm -rf /var/lib/apt/lists/*
RUN rustup default 1.95 && rustup component add llvm-tools

FROM tools AS build
COPY . /src
WORKDIR /src
RUN make wheel

FROM python:3.13-slim
COPY requirements.txt /tmp/
COPY --from=build /src/dist/*.whl /tmp/
RUN pip install --no-cache-dir --require-hashes -r /tmp/requirements.txt \
    && pip install --no-cache-dir --no-deps /tmp/*.whl \
    && rm /tmp/*.whl /tmp/requirements.txt
WORKDIR /work
ENTRYPOINT ["shallows"]
