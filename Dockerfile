# The command in an image that holds nothing else but the CA certificates: no shell, no libc, not root.
# docs/deploy.md says how to build and use it. For another kind of machine, without emulation:
# docker build --platform linux/arm64 ...
FROM --platform=$BUILDPLATFORM rust:1-slim-bookworm AS build
ARG TARGETARCH
WORKDIR /s3lect

# The compiler and the libraries come first: Docker keeps them while only the source changes.
COPY deps deps
RUN deps/install-debian.sh static && deps/install-cross.sh "$TARGETARCH"

COPY . .
RUN program=$(packaging/static.sh "$TARGETARCH") && \
    cc=$(deps/install-cross.sh "$TARGETARCH")/bin/cc && \
    mkdir -p /image/usr/bin /image/etc/ssl && \
    cp "$program" /image/usr/bin/s3lect && \
    "$cc" -O2 -static -s -o /image/usr/bin/s3lect-health packaging/health.c && \
    cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/cert.pem

FROM scratch
COPY --from=build /image /
USER 65532:65532
ENTRYPOINT ["/usr/bin/s3lect"]
# Of a container that runs with --http 8080.
HEALTHCHECK --interval=10s --timeout=3s CMD ["/usr/bin/s3lect-health"]
