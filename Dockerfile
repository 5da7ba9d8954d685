# Build:  docker build -t syncd .                     (make image also sets the version and the labels)
#         docker build --platform linux/arm64 -t syncd .     (Go cross-compiles, so this needs no emulation)
# Run:    docker run --read-only -p 127.0.0.1:9797:9797 -v syncd:/var/lib/syncd \
#                -v ./syncd.yaml:/etc/syncd/syncd.yaml:ro -e SYNCD_CUSTOMER_ID syncd
# The base of the build stage has no ARG, because dependabot would not update it. Another
# one:    docker build --build-context golang:1.26-bookworm=docker-image://OTHER -t syncd .
FROM --platform=${BUILDPLATFORM} golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# .dockerignore lists the sources.
COPY . .
ARG VERSION=devel
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /out/usr/bin/syncd ./cmd/syncd \
 && mkdir -p /out/usr/share/doc/syncd /out/etc/ssl/certs /out/var/lib \
 && go run ./deploy/sbom /out/usr/bin/syncd ${VERSION} /out/usr/share/doc/syncd/syncd.cdx.json \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && mkdir -m 775 /out/var/lib/syncd

# The binary contains the time zones.
FROM scratch
COPY --from=build /out/usr /usr
COPY --from=build /out/etc /etc
COPY LICENSE /usr/share/doc/syncd/
# Any uid can run the image: a new volume is writable for group 0, which engines assign
# to a uid without a passwd entry.
COPY --from=build --chown=65532:0 /out/var /var
USER 65532:65532
VOLUME /var/lib/syncd
# Nothing outside could reach loopback in the container. Publish the port only to
# trusted networks, or set http.web_config.
ENV SYNCD_HTTP_LISTEN=:9797
EXPOSE 9797
HEALTHCHECK --interval=1m --timeout=10s --start-period=30s CMD ["/usr/bin/syncd", "healthcheck"]
ENTRYPOINT ["/usr/bin/syncd"]
CMD ["run"]
# The labels come last: they change with each commit, and the layers above can stay.
ARG VERSION=devel
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="syncd" \
      org.opencontainers.image.description="Keeps a local, verified mirror of a provider's reference data" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
