# Build:  docker build -t syncd .
# Run:    docker run --read-only -v syncd:/var/lib/syncd -v ./syncd.yaml:/etc/syncd/syncd.yaml:ro \
#                -e SYNCD_CUSTOMER_ID syncd
ARG GO_IMAGE=golang:1.26-bookworm

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /out/syncd ./cmd/syncd \
 && cp /etc/ssl/certs/ca-certificates.crt /out/ \
 && mkdir -p /out/var/lib && mkdir -m 775 /out/var/lib/syncd

# Time zones are in the binary.
FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="syncd" \
      org.opencontainers.image.description="Keeps a local, proven copy of a provider's reference data" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/syncd /usr/bin/syncd
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# Any uid may run it: a new volume is its owner's, and writable for group 0, which
# engines give to a uid that they do not know.
COPY --from=build --chown=65532:0 /out/var /var
USER 65532:65532
VOLUME /var/lib/syncd
# Loopback in here is out of everyone's reach. Publish the port to whom it may
# concern, or have a http.web_config.
ENV SYNCD_HTTP_LISTEN=:9797
EXPOSE 9797
HEALTHCHECK --interval=1m --timeout=10s --start-period=30s CMD ["/usr/bin/syncd", "healthcheck"]
ENTRYPOINT ["/usr/bin/syncd"]
CMD ["run"]
