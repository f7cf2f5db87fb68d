# The four commands in a small image: docker build -t map-toolkit .
#
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/maps" map-toolkit tilecut cut /maps/usa.tif -o /maps/usa.mbtiles
#   docker run --rm -p 8080:8080 -v maps:/maps:ro map-toolkit
#
# Without --user it runs as user 10001, who owns the volume /maps of the image and cannot write into a folder of yours.
FROM swift:6.2-bookworm AS build
WORKDIR /src
COPY scripts/install-packages.sh scripts/
RUN scripts/install-packages.sh --dist
COPY . .
RUN make dist

FROM debian:bookworm-slim
COPY --from=build /src/.build/dist/*.deb /tmp/
# What the package recommends (scripts/dist.sh): for layers and labels, --colors, textures and https.
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb ca-certificates libcairo2 \
  libpangocairo-1.0-0 librsvg2-2 fonts-open-sans libimagequant0 libastcenc3d \
  && rm -rf /tmp/*.deb /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --home-dir /maps maps && install -d -o maps -g maps /maps
USER maps
VOLUME /maps
WORKDIR /maps
EXPOSE 8080
CMD ["tileserve", "/maps", "--host", "0.0.0.0"]
