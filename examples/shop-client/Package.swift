// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "shop-client",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "map-toolkit", path: "../..")],
  targets: [
    .executableTarget(
      name: "ShopClient",
      dependencies: [
        .product(name: "MapStoreClient", package: "map-toolkit"),
        .product(name: "MapStoreWire", package: "map-toolkit"),
        .product(name: "RegionCatalog", package: "map-toolkit"),
        .product(name: "StoreSimulators", package: "map-toolkit"),
        .product(name: "TileIndex", package: "map-toolkit"),
      ],
      path: "Sources")
  ])
