// swift-tools-version: 6.2
import Foundation
import PackageDescription

// In this order: libraries of the system, C, our libraries, commands, other programs, tests, the package that they
// make, and what variables of the environment change in it.

let strict = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map {
  SwiftSetting.enableUpcomingFeature($0)
}

/// The packages of others, by what is used of them.
let packages = [
  "ArgumentParser": "swift-argument-parser", "AsyncHTTPClient": "async-http-client",
  "Configuration": "swift-configuration", "Crypto": "swift-crypto", "CryptoExtras": "swift-crypto",
  "HTTPTypes": "swift-http-types", "Hummingbird": "hummingbird", "HummingbirdCore": "hummingbird",
  "Logging": "swift-log", "NIOCore": "swift-nio", "NIOEmbedded": "swift-nio", "NIOHTTP1": "swift-nio",
  "NIOHTTPTypes": "swift-nio-extras", "NIOHTTPTypesHTTP1": "swift-nio-extras", "NIOPosix": "swift-nio",
  "NIOSSL": "swift-nio-ssl", "ServiceLifecycle": "swift-service-lifecycle", "SwiftASN1": "swift-asn1",
  "UnixSignals": "swift-service-lifecycle", "X509": "swift-certificates",
]
/// What Apple's platforms have otherwise.
let onLinux = ["CExpat", "CHogweed", "CNettle", "CUnistring"]

/// Targets of this package and products of others, by their names with spaces between them.
func dependencies(_ names: String) -> [Target.Dependency] {
  names.split(whereSeparator: \.isWhitespace).map(String.init).map { name in
    if let package = packages[name] { return .product(name: name, package: package) }
    return onLinux.contains(name) ? .target(name: name, condition: .when(platforms: [.linux])) : .byName(name: name)
  }
}

// MARK: Libraries of the system

func system(_ name: String, _ pkgConfig: String? = nil, apt: String, brew: String? = nil) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])] + (brew.map { [.brew([$0])] } ?? []))
}

/// Linux loads some when they are first needed (CLazyLibrary): nothing links them.
#if os(Linux)
  func lazyOnLinux(_ pkgConfig: String) -> String? { nil }
#else
  func lazyOnLinux(_ pkgConfig: String) -> String? { pkgConfig }
#endif

let systemLibraries = [
  system("CSQLite", "sqlite3", apt: "libsqlite3-dev", brew: "sqlite3"),
  system("CPNG", "libpng", apt: "libpng-dev", brew: "libpng"),
  system("CZlib", "zlib", apt: "zlib1g-dev", brew: "zlib"),
  system("CTIFF", "libtiff-4", apt: "libtiff-dev", brew: "libtiff"),
  // Debian's libgeotiff ships no pkg-config file; its headers lie in /usr/include/geotiff.
  system("CGeoTIFF", apt: "libgeotiff-dev", brew: "libgeotiff"),
  system("CPROJ", lazyOnLinux("proj"), apt: "libproj-dev", brew: "proj"),
  system("CJPEG", "libjpeg", apt: "libjpeg62-turbo-dev", brew: "jpeg-turbo"),
  system("CWebP", "libwebp", apt: "libwebp-dev", brew: "webp"),
  system("COpenJPEG", "libopenjp2", apt: "libopenjp2-7-dev", brew: "openjpeg"),
  system("CDeflate", "libdeflate", apt: "libdeflate-dev", brew: "libdeflate"),
  // Apple's platforms have Foundation's XML parser.
  system("CExpat", "expat", apt: "libexpat1-dev"),
  // The GnuTLS flavour, which PROJ loads too.
  system("CCurl", lazyOnLinux("libcurl"), apt: "libcurl4-gnutls-dev", brew: "curl"),
  system("CCairo", lazyOnLinux("cairo"), apt: "libcairo2-dev", brew: "cairo"),
  // SHA-256; Apple's platforms have CryptoKit.
  system("CNettle", "nettle", apt: "nettle-dev"),
  // Ed25519, from the same package.
  system("CHogweed", "hogweed", apt: "nettle-dev"),
  // Normalisation of logins and passwords; Apple's platforms have Foundation's. Debian has no pkg-config file of it.
  system("CUnistring", apt: "libunistring-dev"),
]

// MARK: C

// Only where Swift cannot go: setjmp (libpng, libjpeg), variadic functions (libtiff, libgeotiff, libcurl), a header in
// C++ (libastcenc), and what the C library hides behind _GNU_SOURCE (CSystemShim).

/// A C target does not link what a module map names; Apple's platforms link what Linux loads when it is first needed.
func shim(_ name: String, over modules: String, linking libraries: String...) -> Target {
  .target(
    name: name, dependencies: dependencies(modules + " CLazyLibrary"),
    linkerSettings: libraries.map { .linkedLibrary($0, .when(platforms: [.macOS, .iOS])) })
}

let shims: [Target] = [
  // Loads a library when it is first needed.
  .target(name: "CLazyLibrary"),
  shim("CTIFFShim", over: "CTIFF CGeoTIFF", linking: "geotiff"),
  shim("CPROJShim", over: "CPROJ", linking: "proj"),
  shim("CCurlShim", over: "CCurl", linking: "curl"),
  shim("CCairoShim", over: "CCairo", linking: "cairo", "pangocairo-1.0", "pango-1.0", "gobject-2.0", "rsvg-2"),
  // libastcenc has no pkg-config file; Homebrew has its program alone.
  .target(name: "CASTCShim", dependencies: ["CLazyLibrary"]),
  .target(name: "CPNGShim", dependencies: ["CPNG"]),
  .target(name: "CJPEGShim", dependencies: ["CJPEG"]),
  .target(name: "CSystemShim"),
]

// MARK: Libraries

/// Any target may import the system's C library (LibC).
///
/// - Parameters:
///   - assets: of the module's folder Pages/Assets; a folder of resources beside a program would break when the program
///     is moved.
///   - hasPrivacyManifest: whether it calls what Apple wants a reason for.
func library(
  _ name: String, _ names: String, assets: [String] = [], hasPrivacyManifest: Bool = false, path: String? = nil
) -> Target {
  let manifest = hasPrivacyManifest ? ["PrivacyInfo.xcprivacy"] : []
  // Not on Linux, where a module with resources needs all of Foundation.
  #if os(Linux)
    let (excluded, copied): ([String], [Resource]) = (manifest, [])
  #else
    let (excluded, copied): ([String], [Resource]) = ([], manifest.map { .copy($0) })
  #endif
  let resources = copied + assets.map { .embedInCode("Pages/Assets/\($0)") }
  return .target(
    name: name, dependencies: dependencies(names + " LibC"), path: path, exclude: excluded,
    resources: resources.isEmpty ? nil : resources, swiftSettings: strict)
}

let libraries = [
  // The system's C library, under one name on all platforms.
  .target(name: "LibC", swiftSettings: strict),
  // Domain-free code: JSON, text, dates, atomic files, SQLite, HTTP fields. No Foundation, which would slow the start
  // of commands.
  library("Support", "CSQLite CSystemShim CZlib CNettle", hasPrivacyManifest: true),
  // The sentences of errors for `LocalizedError`, in modules with Foundation.
  library("LocalizedErrors", "Support"),
  library("TileIndex", "Support CSQLite CSystemShim CExpat"),
  // What maps show, catalogues and the split of regions into packs.
  library("RegionCatalog", "Support TileIndex"),
  library("TileImage", "Support TileIndex CPNGShim CJPEGShim CWebP CDeflate"),
  // Lines, areas and points drawn over tiles.
  library("MapDrawing", "Support TileIndex RegionCatalog TileImage CCairo CCairoShim"),
  library(
    "TileCut",
    """
    Support TileIndex RegionCatalog TileImage MapDrawing CPNGShim CJPEGShim CTIFFShim CCurlShim CASTCShim CPROJ
    CPROJShim COpenJPEG CSQLite CPNG CTIFF CJPEG CWebP CDeflate CZlib
    """),

  // How short memory is; for apps too, so without HTTP and codecs.
  library("MemoryPressure", "CSystemShim"),
  // Separate from TileServe, so that an app can embed the cache without a server and without codecs.
  library("TilePrefetch", "TileIndex MemoryPressure"),
  // A map in an app: a bundle that any task may read, and the tiles of a map view within a budget of memory.
  library("OfflineMap", "Support LocalizedErrors TileIndex TilePrefetch MemoryPressure"),
  library("PrefetchReplay", "Support TileIndex TileImage TilePrefetch"),
  // What both servers need of HTTP/1: proxies, checks of requests, metrics.
  library("ServerSupport", "Support NIOHTTP1"),
  library(
    "TileServe",
    """
    Support LocalizedErrors ServerSupport TileIndex RegionCatalog TileImage MapDrawing TilePrefetch MemoryPressure
    CSystemShim AsyncHTTPClient Logging NIOCore NIOPosix NIOHTTP1 NIOSSL
    """,
    assets: [
      "icon.svg", "index.js", "style.css", "viewer.css", "viewer-shared.js", "viewer-fitted.js", "viewer-grid.js",
      "viewer-leaflet.js", "viewer-maplibre.js", "viewer-search.js", "viewer-track.js",
    ]),

  // From signed bytes to facts; for apps too, so without a ledger and without HTTP.
  // CryptoExtras: RSA for receipts and for Google's signatures.
  library("PurchaseVerification", "Support LocalizedErrors Crypto CryptoExtras X509 SwiftASN1"),
  // CryptoExtras: RSA for Google's access tokens.
  // NIOPosix and NIOSSL for their errors alone: what went wrong below HTTP is said in words.
  library(
    "PurchaseLedger",
    """
    Support LocalizedErrors PurchaseVerification CSQLite Crypto CryptoExtras AsyncHTTPClient NIOCore NIOHTTP1 NIOPosix
    NIOSSL
    """),
  // Logins, passwords and sessions, in the ledger's file.
  // CryptoExtras: scrypt for passwords.
  library("Accounts", "Support PurchaseLedger CUnistring Crypto CryptoExtras"),
  // Stores that sign with keys of their own, for tests and demonstrations.
  library(
    "StoreSimulators",
    """
    Support LocalizedErrors PurchaseVerification PurchaseLedger Crypto CryptoExtras X509 SwiftASN1 NIOCore NIOPosix
    NIOHTTP1
    """),
  // The messages of the store's service: codable values, read by servers and devices.
  library("MapStoreWire", "Support TileIndex RegionCatalog"),
  // CryptoExtras: RSA for the tokens of Google's pushes.
  library(
    "MapStoreServer",
    """
    Support LocalizedErrors ServerSupport TileIndex TileImage RegionCatalog PurchaseLedger Accounts MapStoreWire
    Hummingbird HummingbirdCore HTTPTypes NIOHTTPTypes NIOHTTPTypesHTTP1 NIOCore NIOPosix NIOHTTP1 ServiceLifecycle
    Crypto CryptoExtras Logging
    """, assets: ["store.css", "store.js", "region.js", "land.bin"]),
  // The device's side. An app has no server in it.
  // For its errors alone: failures of TLS are reported in words.
  library(
    "MapStoreClient",
    """
    Support LocalizedErrors TileIndex RegionCatalog MapStoreWire CHogweed AsyncHTTPClient NIOCore NIOPosix NIOHTTP1
    NIOSSL
    """, hasPrivacyManifest: true),
]

// MARK: Commands and other programs

func program(_ name: String, in path: String, _ names: String) -> Target {
  .executableTarget(name: name, dependencies: dependencies(names + " LibC"), path: path, swiftSettings: strict)
}

/// With the parser of arguments, and what commands share.
func command(_ name: String, _ names: String) -> Target {
  program(name, in: "Sources/Commands/\(name)", names + " Support CommandSupport ArgumentParser")
}

let commands = [
  // What commands share: signals, standard streams, arguments.
  library("CommandSupport", "Support TileIndex ArgumentParser", path: "Sources/Commands/CommandSupport"),
  // Configuration files of the servers and the ledger. Separate, because tilecut has none.
  library(
    "CommandConfiguration",
    "Support CommandSupport TileIndex ArgumentParser Configuration", path: "Sources/Commands/CommandConfiguration"),
  command("TileCutCommand", "TileIndex RegionCatalog TileImage TileCut"),
  command(
    "TileServeCommand",
    "TileIndex TileServe ServerSupport TilePrefetch PrefetchReplay CommandConfiguration CSystemShim Logging"),
  command("PurchaseLedgerCommand", "PurchaseLedger Accounts StoreSimulators CommandConfiguration"),
  command(
    "MapStoreCommand",
    """
    TileIndex RegionCatalog PurchaseLedger StoreSimulators ServerSupport MapStoreServer MapStoreClient MapStoreWire
    CommandConfiguration Logging
    """),
]

let benchmarks = [
  program("LedgerBench", in: "Benchmarks/LedgerBench", "Support PurchaseLedger Accounts StoreSimulators"),
  program("StoreBench", in: "Benchmarks/StoreBench", "Support PurchaseLedger StoreSimulators MapStoreWire Crypto"),
  program("CacheBench", in: "Benchmarks/CacheBench", "OfflineMap PrefetchReplay TilePrefetch TileIndex"),
  program("TileBench", in: "Benchmarks/TileBench", "TileIndex TileImage TileCut"),
]

// They are packages of their own; built here, they share what is compiled for the tests.
let examples = [
  program("TerminalViewer", in: "examples/terminal-viewer/Sources", "TileIndex TileImage"),
  program("SessionViewer", in: "examples/map-session/Sources", "OfflineMap TileImage"),
  program(
    "OneProcess", in: "examples/one-process/Sources",
    "TileServe MapStoreServer PurchaseLedger Logging UnixSignals"),
  program(
    "ShopClient", in: "examples/shop-client/Sources",
    "MapStoreClient MapStoreWire StoreSimulators RegionCatalog TileIndex"),
]

// MARK: Tests

func tests(_ name: String, _ names: String, exclude: [String] = [], settings: [SwiftSetting] = []) -> Target {
  .testTarget(
    name: name, dependencies: dependencies(names + " TestSupport LibC"), exclude: exclude,
    swiftSettings: strict + settings)
}

let testTargets = [
  // Lets the thread sanitizer see what Swift's locks do; empty without it.
  .target(name: "CThreadSanitizerShim", path: "Tests/CThreadSanitizerShim"),
  library(
    "TestSupport",
    "Support TileIndex RegionCatalog TileImage CZlib CThreadSanitizerShim", path: "Tests/TestSupport"),
  // A device's process, for tests that kill it.
  program("CatalogProbe", in: "Tests/CatalogProbe", "Support MapStoreClient"),

  tests("SupportTests", "Support CSQLite"),
  tests("ServerSupportTests", "Support ServerSupport NIOHTTP1"),
  tests("TileIndexTests", "Support TileIndex CSQLite"),
  tests("RegionCatalogTests", "Support RegionCatalog TileIndex"),
  tests("TileImageTests", "TileImage TileIndex"),
  tests("MapDrawingTests", "Support MapDrawing RegionCatalog TileImage TileIndex", exclude: ["Goldens"]),
  tests("TileCutTests", "Support RegionCatalog TileCut TileImage TileIndex", exclude: ["Goldens"]),
  tests("MemoryPressureTests", "MemoryPressure"),
  tests("TilePrefetchTests", "TilePrefetch TileImage TileIndex MemoryPressure"),
  tests("OfflineMapTests", "CSQLite Support OfflineMap MemoryPressure PrefetchReplay TileImage TileIndex TilePrefetch"),
  tests("PrefetchReplayTests", "Support PrefetchReplay TilePrefetch TileImage TileIndex"),
  tests(
    "TileServeTests",
    """
    Support ServerSupport TileServe TileImage TileIndex TilePrefetch MemoryPressure CSQLite NIOCore NIOEmbedded NIOPosix
    NIOHTTP1 Logging
    """),
  tests(
    "PurchaseLedgerTests",
    """
    Support PurchaseLedger Accounts StoreSimulators PurchaseLedgerCommand PurchaseVerification Crypto CryptoExtras
    X509 SwiftASN1
    """),
  // Files for Apple's platforms are sources of these tests, on top of what Foundation has on Linux.
  tests(
    "MapStoreClientTests",
    """
    MapStoreClient MapStoreCommand MapStoreWire Support TileIndex RegionCatalog CatalogProbe AsyncHTTPClient Crypto
    NIOCore NIOPosix NIOHTTP1
    """, settings: [.define("URL_SESSION_TESTS", .when(platforms: [.linux]))]),
  tests(
    "MapStoreServerTests",
    """
    MapStoreServer MapStoreClient MapStoreWire MapStoreCommand PurchaseLedger Accounts StoreSimulators Support TileCut
    TileImage TileIndex RegionCatalog AsyncHTTPClient Crypto CryptoExtras NIOCore NIOPosix Logging
    """),
  tests(
    "CommandTests",
    """
    Support TileCutCommand TileServeCommand PurchaseLedgerCommand MapStoreCommand CacheBench TileCut TileImage
    TileIndex RegionCatalog PurchaseLedger Accounts StoreSimulators MapStoreClient MapStoreWire CSQLite
    """, exclude: ["Goldens", "Fixtures"]),
  // Browsers and map programs against the built `tileserve`.
  tests(
    "ClientTests",
    """
    Support TileCutCommand TileServeCommand MapStoreCommand TileServe TileCut TileImage TileIndex RegionCatalog
    PurchaseLedger
    """),
  tests(
    "DocumentationTests",
    """
    OfflineMap MemoryPressure RegionCatalog TileImage TileIndex TilePrefetch TileServe PurchaseVerification
    PurchaseLedger Accounts StoreSimulators MapStoreClient MapStoreWire MapStoreServer TileCutCommand TileServeCommand
    PurchaseLedgerCommand MapStoreCommand TerminalViewer SessionViewer OneProcess ShopClient Crypto Logging
    """),
]

// MARK: The package

let commandProducts: [Product] = [
  .executable(name: "tilecut", targets: ["TileCutCommand"]),
  .executable(name: "tileserve", targets: ["TileServeCommand"]),
  .executable(name: "purchase-ledger", targets: ["PurchaseLedgerCommand"]),
  .executable(name: "mapstore", targets: ["MapStoreCommand"]),
]
let libraryProducts = [
  "TileIndex", "LocalizedErrors", "RegionCatalog", "OfflineMap", "TileImage", "TileCut", "TileServe",
  "PurchaseVerification", "PurchaseLedger", "Accounts", "StoreSimulators", "MapStoreWire", "MapStoreServer",
  "MapStoreClient",
].map { Product.library(name: $0, targets: [$0]) }

let package = Package(
  name: "map-toolkit",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: commandProducts + libraryProducts,
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
  targets: systemLibraries + shims + libraries + commands + benchmarks + examples + testTargets,
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

// MARK: What the environment changes

// `make` sets this: nine tenths of a debug cut are loops over pixels, and the default linker takes three times as long
// as Swift's own. Overflow and bounds are checked all the same. A package that others depend on must not have such
// flags.
if Context.environment["OPTIMISED_KERNELS"] == "1" {
  let optimised = ["MapDrawing", "TestSupport", "TileCut", "TileCutTests", "TileImage", "TileImageTests"]
  for target in package.targets where optimised.contains(target.name) {
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

/// Removes the targets that these do not need, and products that lose theirs.
@MainActor func keepOnly(_ names: [String]) {
  var kept: Set<String> = []
  func keep(_ name: String) {
    guard let target = package.targets.first(where: { $0.name == name }), kept.insert(name).inserted else { return }
    for case .targetItem(let name, _) in target.dependencies { keep(name) }
    for case .byNameItem(let name, _) in target.dependencies { keep(name) }
  }
  for name in names { keep(name) }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products.removeAll { product in
    let targets = (product as? Product.Executable)?.targets ?? (product as? Product.Library)?.targets ?? []
    return !kept.isSuperset(of: targets)
  }
}

// `scripts/build.sh` sets this: one call then builds all commands and nothing else, and no core waits for the end of
// each product. SwiftPM builds one product or all of them.
if Context.environment["COMMANDS_ONLY"] == "1" {
  keepOnly(["TileCutCommand", "TileServeCommand", "PurchaseLedgerCommand", "MapStoreCommand"])
}

// `scripts/build.sh tilecut` sets this: without the servers one package is fetched, not 26.
if Context.environment["TILECUT_ONLY"] == "1" {
  keepOnly(["TileCutCommand"])
  package.products.removeAll { $0.name != "tilecut" }
  package.dependencies.removeAll { dependency in
    guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
    return !location.hasSuffix("swift-argument-parser")
  }
}

// Names of targets, separated by spaces: only these and what they need are built. Who works on one module sets this, so
// that the tests of the others are not compiled and linked each time (CONTRIBUTING.md).
if let names = Context.environment["ONLY_TARGETS"] {
  keepOnly(names.split(separator: " ").map(String.init))
}

// `make fuzz` names libFuzzer's runtime here. Its targets need flags that a package must not have where others depend
// on it.
if let runtime = Context.environment["LIBFUZZER_RUNTIME"] {
  package.targets.append(.systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"))
  let fuzzers = [
    "LedgerFuzz": "Support PurchaseLedger StoreSimulators",
    "RasterFuzz": "RegionCatalog TileCut TileImage TileIndex",
  ]
  for (name, libraries) in fuzzers {
    let fuzzer = program(name, in: "Fuzz/\(name)", libraries + " CLibFuzzer")
    fuzzer.linkerSettings = [.unsafeFlags([runtime]), .linkedLibrary("stdc++")]
    package.targets.append(fuzzer)
  }
  let fuzzed = [
    "PurchaseLedger", "PurchaseVerification", "RegionCatalog", "Support", "TileCut", "TileImage", "TileIndex",
  ]
  for target in package.targets where fuzzed.contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(["-sanitize=fuzzer"])]
  }
}
