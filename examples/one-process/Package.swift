// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "one-process",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "map-toolkit", path: "../.."),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
  ],
  targets: [
    .executableTarget(
      name: "OneProcess",
      dependencies: [
        .product(name: "TileServe", package: "map-toolkit"), .product(name: "MapStoreServer", package: "map-toolkit"),
        .product(name: "PurchaseLedger", package: "map-toolkit"), .product(name: "Logging", package: "swift-log"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      path: "Sources")
  ])
