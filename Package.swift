// swift-tools-version: 6.2
import Foundation
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Linux loads PROJ, libgeotiff and curl when they are first needed (CLateLibrary): nothing links them.
#if os(Linux)
  let lateLibrary: (String) -> String? = { _ in nil }
#else
  let lateLibrary: (String) -> String? = { $0 }
#endif
let linkedByApple = BuildSettingCondition.when(platforms: [.macOS, .iOS])

let package = Package(
  name: "map-toolkit",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .executable(name: "tilecut", targets: ["TileCutCommand"]),
    .executable(name: "tileserve", targets: ["TileServeCommand"]),
    .executable(name: "purchase-ledger", targets: ["PurchaseLedgerCommand"]),
    .executable(name: "mapstore", targets: ["MapStoreCommand"]),
    .library(name: "TileIndex", targets: ["TileIndex"]),
    .library(name: "RegionCatalog", targets: ["RegionCatalog"]),
    .library(name: "Gazetteer", targets: ["Gazetteer"]),
    .library(name: "OfflineMap", targets: ["OfflineMap"]),
    .library(name: "TileImage", targets: ["TileImage"]),
    .library(name: "TileCut", targets: ["TileCut"]),
    .library(name: "TilePrefetch", targets: ["TilePrefetch"]),
    .library(name: "TileServe", targets: ["TileServe"]),
    .library(name: "MemoryPressure", targets: ["MemoryPressure"]),
    .library(name: "PurchaseVerification", targets: ["PurchaseVerification"]),
    .library(name: "PurchaseLedger", targets: ["PurchaseLedger"]),
    .library(name: "MapStoreWire", targets: ["MapStoreWire"]),
    .library(name: "MapStoreServer", targets: ["MapStoreServer"]),
    .library(name: "MapStoreClient", targets: ["MapStoreClient"]),
  ],
  // An app that embeds libraries without them asks for `traits: []`, and SwiftPM fetches no package but this one.
  traits: [
    .default(enabledTraits: ["Servers"]),
    .trait(
      name: "Servers", description: "The commands, the servers and the ledger",
      enabledTraits: ["AsyncHTTPClient", "PurchaseVerification"]),
    .trait(
      name: "AsyncHTTPClient",
      description: "MapStoreClient on Linux by AsyncHTTPClient, in place of Foundation's URLSession"),
    .trait(name: "PurchaseVerification", description: "PurchaseVerification, which needs certificates and RSA"),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    // Without traits they need FoundationEssentials alone: all of Foundation would add 34 MB of locale data.
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.20.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    // Only for `make docs`.
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ],
  targets: [
    // The system's libraries, through their -dev packages.
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
    .systemLibrary(
      name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .systemLibrary(
      name: "CTIFF", pkgConfig: "libtiff-4", providers: [.apt(["libtiff-dev"]), .brew(["libtiff"])]),
    // Debian's libgeotiff ships no pkg-config file; its headers lie in /usr/include/geotiff.
    .systemLibrary(name: "CGeoTIFF", providers: [.apt(["libgeotiff-dev"]), .brew(["libgeotiff"])]),
    .systemLibrary(
      name: "CPROJ", pkgConfig: lateLibrary("proj"), providers: [.apt(["libproj-dev"]), .brew(["proj"])]),
    .systemLibrary(
      name: "CJPEG", pkgConfig: "libjpeg",
      providers: [.apt(["libjpeg62-turbo-dev"]), .brew(["jpeg-turbo"])]),
    .systemLibrary(
      name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"]), .brew(["webp"])]),
    .systemLibrary(
      name: "COpenJPEG", pkgConfig: "libopenjp2", providers: [.apt(["libopenjp2-7-dev"]), .brew(["openjpeg"])]),
    .systemLibrary(
      name: "CDeflate", pkgConfig: "libdeflate",
      providers: [.apt(["libdeflate-dev"]), .brew(["libdeflate"])]),
    // Apple's platforms have Foundation's XML parser.
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    // The GnuTLS flavour, which PROJ loads too.
    .systemLibrary(
      name: "CCurl", pkgConfig: lateLibrary("libcurl"), providers: [.apt(["libcurl4-gnutls-dev"]), .brew(["curl"])]),
    .systemLibrary(
      name: "CCairo", pkgConfig: lateLibrary("cairo"), providers: [.apt(["libcairo2-dev"]), .brew(["cairo"])]),
    // SHA-256; Apple's platforms have CryptoKit.
    .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
    // Ed25519, from the same package.
    .systemLibrary(name: "CHogweed", pkgConfig: "hogweed", providers: [.apt(["nettle-dev"])]),
    // Normalisation of logins and passwords; Apple's platforms have Foundation's. Debian has no pkg-config file of it.
    .systemLibrary(name: "CUnistring", providers: [.apt(["libunistring-dev"])]),

    // C only where Swift cannot go: setjmp (libpng, libjpeg), variadic functions (libtiff, libgeotiff, libcurl), a
    // header in C++ (libastcenc), and what the C library hides behind _GNU_SOURCE (CSystemShim).
    .target(name: "CPNGShim", dependencies: ["CPNG"]),
    .target(name: "CJPEGShim", dependencies: ["CJPEG"]),
    // A C target does not link what a module map names; libgeotiff has no pkg-config file to say it either.
    .target(
      name: "CTIFFShim", dependencies: ["CTIFF", "CGeoTIFF", "CLateLibrary"],
      linkerSettings: [.linkedLibrary("geotiff", linkedByApple)]),
    .target(
      name: "CPROJShim", dependencies: ["CPROJ", "CLateLibrary"],
      linkerSettings: [.linkedLibrary("proj", linkedByApple)]),
    .target(
      name: "CCurlShim", dependencies: ["CCurl", "CLateLibrary"],
      linkerSettings: [.linkedLibrary("curl", linkedByApple)]),
    .target(
      name: "CCairoShim", dependencies: ["CCairo", "CLateLibrary"],
      linkerSettings: [.linkedLibrary("cairo", linkedByApple)]),
    // libastcenc's header is C++, and it has no pkg-config file; Homebrew has its program alone.
    .target(name: "CASTCShim", dependencies: ["CLateLibrary"]),
    // Loads a library when it is first needed.
    .target(name: "CLateLibrary"),

    .target(name: "CSystemShim"),

    // Domain-free code: JSON, text, dates, atomic files, SQLite, HTTP fields. No Foundation, which would slow the start
    // of commands.
    .target(
      name: "Support",
      dependencies: [
        "CSQLite", "CSystemShim", "CZlib", .target(name: "CNettle", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: strict),
    .target(
      name: "TileIndex",
      dependencies: [
        "Support", "CSQLite", "CSystemShim",
        .target(name: "CExpat", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: strict),
    // Manifests, boundaries, catalogues and the split of regions into packs.
    .target(name: "RegionCatalog", dependencies: ["Support", "TileIndex"], swiftSettings: strict),
    // Place search, and other programs' lists of places.
    .target(name: "Gazetteer", dependencies: ["Support", "TileIndex"], swiftSettings: strict),
    .target(
      name: "TileImage",
      dependencies: ["Support", "TileIndex", "CPNGShim", "CJPEGShim", "CWebP", "CDeflate"],
      swiftSettings: strict),
    // Lines, areas and points drawn over tiles.
    .target(
      name: "MapDrawing",
      dependencies: ["Support", "TileIndex", "RegionCatalog", "TileImage", "CCairo", "CCairoShim"],
      swiftSettings: strict),
    // Separate from TileServe, so that an app can embed the cache without a server and without codecs.
    .target(name: "TilePrefetch", dependencies: ["TileIndex", "MemoryPressure"], swiftSettings: strict),
    // A map in an app: a bundle that any task may read, and the tiles of a map view within a budget of memory.
    .target(
      name: "OfflineMap", dependencies: ["Support", "TileIndex", "Gazetteer", "TilePrefetch", "MemoryPressure"],
      swiftSettings: strict),
    .target(
      name: "PrefetchReplay", dependencies: ["Support", "TileIndex", "TileImage", "TilePrefetch"], swiftSettings: strict
    ),
    .target(
      name: "TileCut",
      dependencies: [
        "Support",
        "TileIndex", "RegionCatalog", "Gazetteer", "TileImage", "MapDrawing", "CPNGShim", "CJPEGShim", "CTIFFShim",
        "CCurlShim",
        "CASTCShim",
        "CPROJ", "CPROJShim", "COpenJPEG", "CSQLite", "CPNG", "CTIFF", "CJPEG", "CWebP", "CDeflate", "CZlib",
      ],
      swiftSettings: strict),
    // What commands share: signals, standard streams, arguments.
    .target(
      name: "CommandSupport",
      dependencies: [
        "Support", "TileIndex", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Commands/CommandSupport", swiftSettings: strict),
    // Configuration files of the servers and the ledger. Separate, because tilecut has none.
    .target(
      name: "CommandConfiguration",
      dependencies: [
        "Support", "CommandSupport", "TileIndex", .product(name: "Configuration", package: "swift-configuration"),
      ],
      path: "Sources/Commands/CommandConfiguration", swiftSettings: strict),
    .executableTarget(
      name: "TileCutCommand",
      dependencies: [
        "Support", "TileIndex", "RegionCatalog", "Gazetteer", "TileImage", "TileCut", "CommandSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Commands/TileCutCommand", swiftSettings: strict),

    // How short memory is; for apps too, so without HTTP and codecs.
    .target(name: "MemoryPressure", dependencies: ["CSystemShim"], swiftSettings: strict),
    .target(
      name: "TileServe",
      dependencies: [
        "Support", "TileIndex", "RegionCatalog", "Gazetteer", "TileImage", "MapDrawing", "TilePrefetch",
        "MemoryPressure", "CSystemShim",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "Logging", package: "swift-log"),
      ],
      // A folder of resources beside the program would break when the program is moved.
      resources: [
        "icon.svg", "index.js", "style.css", "viewer.css", "viewer-shared.js", "viewer-grid.js", "viewer-leaflet.js",
        "viewer-maplibre.js", "viewer-search.js", "viewer-track.js",
      ].map { .embedInCode("Pages/Assets/\($0)") },
      swiftSettings: strict),
    .executableTarget(
      name: "TileServeCommand",
      dependencies: [
        "Support", "TileIndex", "TileServe", "TilePrefetch", "PrefetchReplay", "CommandSupport", "CommandConfiguration",
        "CSystemShim",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Commands/TileServeCommand", swiftSettings: strict),

    // From signed bytes to facts; for apps too, so without a ledger and without HTTP.
    .target(
      name: "PurchaseVerification",
      dependencies: [
        "Support",
        .product(name: "Crypto", package: "swift-crypto"),
        // RSA for receipts and for Google's signatures.
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "X509", package: "swift-certificates"),
        .product(name: "SwiftASN1", package: "swift-asn1"),
      ],
      swiftSettings: strict),
    .target(
      name: "PurchaseLedger",
      dependencies: [
        "Support", "PurchaseVerification", "CSQLite", "CSystemShim",
        .target(name: "CUnistring", condition: .when(platforms: [.linux])),
        .product(name: "Crypto", package: "swift-crypto"),
        // RSA for Google's access tokens, scrypt for passwords.
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "X509", package: "swift-certificates"),
        .product(name: "SwiftASN1", package: "swift-asn1"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        // Their errors alone: what went wrong below HTTP is said in words.
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "PurchaseLedgerCommand",
      dependencies: [
        "Support", "PurchaseLedger", "CommandSupport", "CommandConfiguration",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Commands/PurchaseLedgerCommand", swiftSettings: strict),

    // The messages of the store's service: codable values, read by servers and devices.
    .target(name: "MapStoreWire", dependencies: ["Support", "TileIndex", "RegionCatalog"], swiftSettings: strict),
    .target(
      name: "MapStoreServer",
      dependencies: [
        "Support", "TileIndex", "RegionCatalog", "Gazetteer", "PurchaseLedger", "MapStoreWire",
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Crypto", package: "swift-crypto"),
        // RSA for the tokens of Google's pushes.
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
      ],
      resources: ["store.css", "store.js"].map { .embedInCode("Pages/Assets/\($0)") },
      swiftSettings: strict),
    // The device's side. An app has no server in it.
    .target(
      name: "MapStoreClient",
      dependencies: [
        "Support", "TileIndex", "RegionCatalog", "MapStoreWire",
        .target(name: "CHogweed", condition: .when(platforms: [.linux])),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        // Its errors alone: failures of TLS are reported in words.
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "MapStoreCommand",
      dependencies: [
        "Support",
        "TileIndex", "RegionCatalog", "PurchaseLedger", "MapStoreServer", "MapStoreClient", "MapStoreWire",
        "CommandSupport", "CommandConfiguration",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Commands/MapStoreCommand", swiftSettings: strict),

    .executableTarget(
      name: "LedgerBench", dependencies: ["Support", "PurchaseLedger"], path: "Benchmarks/LedgerBench",
      swiftSettings: strict),
    .executableTarget(
      name: "StoreBench",
      dependencies: ["Support", "PurchaseLedger", "MapStoreWire", .product(name: "Crypto", package: "swift-crypto")],
      path: "Benchmarks/StoreBench", swiftSettings: strict),
    .executableTarget(
      name: "CacheBench", dependencies: ["OfflineMap", "PrefetchReplay", "TilePrefetch", "TileIndex"],
      path: "Benchmarks/CacheBench",
      swiftSettings: strict),
    .executableTarget(
      name: "TileBench", dependencies: ["TileIndex", "TileImage", "TileCut"], path: "Benchmarks/TileBench",
      swiftSettings: strict),

    // The examples, which are packages of their own; built here, they share what is compiled for the tests.
    .executableTarget(
      name: "TerminalViewer", dependencies: ["TileIndex", "TileImage"], path: "examples/terminal-viewer/Sources",
      swiftSettings: strict),
    .executableTarget(
      name: "OneProcess",
      dependencies: [
        "TileServe", "MapStoreServer", "PurchaseLedger", .product(name: "Logging", package: "swift-log"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      path: "examples/one-process/Sources", swiftSettings: strict),
    .executableTarget(
      name: "ShopClient",
      dependencies: ["MapStoreClient", "MapStoreWire", "PurchaseLedger", "RegionCatalog", "TileIndex"],
      path: "examples/shop-client/Sources", swiftSettings: strict),

    // Lets the thread sanitizer see what Swift's locks do; empty without it.
    .target(name: "CThreadSanitizerShim", path: "Tests/CThreadSanitizerShim"),
    .target(
      name: "TestSupport",
      dependencies: ["Support", "TileIndex", "RegionCatalog", "TileImage", "CZlib", "CThreadSanitizerShim"],
      path: "Tests/TestSupport", swiftSettings: strict),
    .testTarget(name: "SupportTests", dependencies: ["Support", "TestSupport", "CSQLite"], swiftSettings: strict),
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "OfflineMap", "Gazetteer", "MemoryPressure", "RegionCatalog", "TileImage", "TileIndex", "TilePrefetch",
        "TileServe", "PurchaseVerification", "PurchaseLedger", "MapStoreClient", "MapStoreWire", "MapStoreServer",
        "TileCutCommand", "TileServeCommand", "PurchaseLedgerCommand", "MapStoreCommand", "TerminalViewer",
        "OneProcess", "ShopClient", "TestSupport",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TileIndexTests",
      dependencies: [
        "Support", "TileIndex", "TestSupport", "CSQLite",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "RegionCatalogTests", dependencies: ["Support", "RegionCatalog", "TileIndex", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "GazetteerTests", dependencies: ["Support", "Gazetteer", "TileIndex", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TileImageTests", dependencies: ["TileImage", "TileIndex", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TilePrefetchTests",
      dependencies: ["TilePrefetch", "TileImage", "TileIndex", "MemoryPressure", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "OfflineMapTests",
      dependencies: [
        "CSQLite", "Support", "OfflineMap", "Gazetteer", "MemoryPressure", "PrefetchReplay", "TileImage", "TileIndex",
        "TilePrefetch", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PrefetchReplayTests",
      dependencies: ["Support", "PrefetchReplay", "TilePrefetch", "TileImage", "TileIndex", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TileCutTests",
      dependencies: ["Support", "RegionCatalog", "TileCut", "TileImage", "TileIndex", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "MapDrawingTests",
      dependencies: ["Support", "MapDrawing", "RegionCatalog", "TileImage", "TileIndex", "TestSupport"],
      exclude: ["Goldens"],
      swiftSettings: strict),
    .testTarget(
      name: "MemoryPressureTests", dependencies: ["MemoryPressure", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "TileServeTests",
      dependencies: [
        "Support", "TileServe", "TileImage", "TileIndex", "TilePrefetch", "MemoryPressure", "TestSupport", "CSQLite",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PurchaseLedgerTests",
      dependencies: [
        "Support", "PurchaseLedger", "PurchaseLedgerCommand", "PurchaseVerification", "TestSupport",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "X509", package: "swift-certificates"),
        .product(name: "SwiftASN1", package: "swift-asn1"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: strict),
    // A device's process, for tests that kill it.
    .executableTarget(
      name: "CatalogProbe", dependencies: ["Support", "MapStoreClient"], path: "Tests/CatalogProbe",
      swiftSettings: strict),
    .testTarget(
      name: "MapStoreClientTests",
      dependencies: [
        "MapStoreClient", "MapStoreCommand", "MapStoreWire", "Support", "TileIndex", "RegionCatalog", "TestSupport",
        "CatalogProbe",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      // Files for Apple's platforms are sources of these tests, on top of what Foundation has on Linux.
      swiftSettings: strict + [.define("URL_SESSION_TESTS", .when(platforms: [.linux]))]),
    .testTarget(
      name: "MapStoreServerTests",
      dependencies: [
        "MapStoreServer", "MapStoreClient", "MapStoreWire", "MapStoreCommand", "PurchaseLedger", "Support",
        "TileCut", "TileImage", "TileIndex", "RegionCatalog", "TestSupport",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "Support",
        "TileCutCommand", "TileServeCommand", "PurchaseLedgerCommand", "MapStoreCommand", "CacheBench", "TileCut",
        "TileImage", "TileIndex", "RegionCatalog", "Gazetteer", "PurchaseLedger", "MapStoreClient", "MapStoreWire",
        "TestSupport", "CSQLite",
      ],
      exclude: ["Goldens"],
      swiftSettings: strict),
    // Browsers and map programs against the built `tileserve`.
    .testTarget(
      name: "ClientTests",
      dependencies: [
        "TileCutCommand", "TileServeCommand", "MapStoreCommand", "TileServe", "TileCut", "TileImage", "TileIndex",
        "RegionCatalog", "PurchaseLedger", "TestSupport",
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// Products of other packages belong to traits, so that those whose traits are off are not fetched.
let traitsOfTargets = ["MapStoreClient": "AsyncHTTPClient", "PurchaseVerification": "PurchaseVerification"]
for target in package.targets {
  let traits: Set = [traitsOfTargets[target.name] ?? "Servers"]
  target.dependencies = target.dependencies.map { dependency in
    guard case .productItem(let name, let package?, let aliases, _) = dependency else { return dependency }
    // MapStoreClient has URLSession on Apple's platforms, whatever the traits.
    let condition: TargetDependencyCondition? =
      target.name == "MapStoreClient" ? .when(platforms: [.linux], traits: traits) : .when(traits: traits)
    return .productItem(name: name, package: package, moduleAliases: aliases, condition: condition)
  }
}

// `make` sets this: nine tenths of a debug cut are loops over pixels, and the default linker takes three times as long
// as Swift's own. Overflow and bounds are checked all the same. A package that others depend on must not have such
// flags.
if Context.environment["OPTIMISED_KERNELS"] == "1" {
  for target in package.targets where ["TileCut", "TileImage"].contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]
  }
  #if canImport(Glibc)
    let folders = (Context.environment["PATH"] ?? "").split(separator: ":")
    if folders.contains(where: { FileManager.default.isExecutableFile(atPath: "\($0)/ld.lld") }) {
      // A twentieth of a binary are relocations, unless they are packed, which glibc knows since 2.36.
      let size = confstr(Int32(_CS_GNU_LIBC_VERSION), nil, 0)
      let name = String(unsafeUninitializedCapacity: size) { bytes in
        bytes.withMemoryRebound(to: CChar.self) { confstr(Int32(_CS_GNU_LIBC_VERSION), $0.baseAddress, size) } - 1
      }
      let glibc = name.drop { !$0.isNumber }.split(separator: ".").compactMap { Int($0) }
      let packed = ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"]
      let flags = ["-use-ld=lld"] + (glibc.lexicographicallyPrecedes([2, 36]) ? [] : packed)
      // Swift's driver exports every symbol, which keeps unused code; no library looks for symbols of a command.
      let unexported = ["-Xlinker", "--no-export-dynamic"]
      for target in package.targets where [.executable, .test].contains(target.type) {
        target.linkerSettings =
          (target.linkerSettings ?? []) + [
            .unsafeFlags(flags), .unsafeFlags(unexported, .when(configuration: .release)),
          ]
      }
    }
  #endif
}

// `scripts/build.sh` sets this: one call then builds all commands and nothing else, and no core waits for the end of
// each product. SwiftPM builds one product or all of them.
if Context.environment["COMMANDS_ONLY"] == "1" {
  package.targets.removeAll { target in
    target.type == .test || ["Tests/", "Benchmarks/", "examples/"].contains { target.path?.hasPrefix($0) == true }
  }
}

// `scripts/build.sh tilecut` sets this: without the servers one package is fetched, not 26.
if Context.environment["TILECUT_ONLY"] == "1" {
  var kept: Set<String> = []
  func keep(_ name: String) {
    guard let target = package.targets.first(where: { $0.name == name }), kept.insert(name).inserted else { return }
    for case .targetItem(let name, _) in target.dependencies { keep(name) }
    for case .byNameItem(let name, _) in target.dependencies { keep(name) }
  }
  keep("TileCutCommand")
  package.targets.removeAll { !kept.contains($0.name) }
  package.products.removeAll { $0.name != "tilecut" }
  package.dependencies.removeAll { dependency in
    guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
    return !location.hasSuffix("swift-argument-parser")
  }
}

// `make fuzz` names libFuzzer's runtime here. Its targets need flags that a package must not have where others depend
// on it.
if let runtime = Context.environment["LIBFUZZER_RUNTIME"] {
  package.targets += [
    .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
    .executableTarget(
      name: "LedgerFuzz", dependencies: ["Support", "PurchaseLedger", "CLibFuzzer"], path: "Fuzz/LedgerFuzz",
      swiftSettings: strict,
      linkerSettings: [.unsafeFlags([runtime]), .linkedLibrary("stdc++")]),
    .executableTarget(
      name: "RasterFuzz", dependencies: ["TileCut", "TileImage", "CLibFuzzer"], path: "Fuzz/RasterFuzz",
      swiftSettings: strict,
      linkerSettings: [.unsafeFlags([runtime]), .linkedLibrary("stdc++")]),
  ]
  let fuzzed = ["PurchaseLedger", "PurchaseVerification", "Support", "TileCut", "TileImage", "TileIndex"]
  for target in package.targets where fuzzed.contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(["-sanitize=fuzzer"])]
  }
}
