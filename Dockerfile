# Build:  docker build -t syncd .
# Run:    docker run --read-only -v syncd:/var/lib/syncd -v ./syncd.yaml:/etc/syncd/syncd.yaml:ro \
#                -e SYNCD_CUSTOMER_ID syncd
# GO_IMAGE is the base of the build stage.
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

# The binary contains the time zones.
FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="syncd" \
      org.opencontainers.image.description="Keeps a local, verified mirror of a provider's reference data" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/syncd /usr/bin/syncd
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
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
