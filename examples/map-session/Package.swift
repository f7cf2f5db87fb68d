// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "map-session",
  platforms: [.macOS(.v15)],
  // Without traits no other package is fetched.
  dependencies: [.package(name: "map-toolkit", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "SessionViewer",
      dependencies: [
        .product(name: "OfflineMap", package: "map-toolkit"), .product(name: "TileImage", package: "map-toolkit"),
      ],
      path: "Sources")
  ])
