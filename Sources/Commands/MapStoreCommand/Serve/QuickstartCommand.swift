import ArgumentParser
import CommandSupport
import LibC
import MapStoreServer
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `mapstore quickstart`: a shop from one raster, with the files that `tilecut build` and `mapstore serve` read.
struct QuickstartCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quickstart",
    abstract: "Makes a shop from a raster, and serves it.",
    discussion: """
      Writes a manifest, prices, keys, a ledger and a configuration file into a folder, runs tilecut build (which must \
      be beside mapstore or on the search path) and then mapstore serve. Files that are there are kept: run it again \
      after editing them, and what has not changed is not made again.
      """)

  @Argument(help: ArgumentHelp("A raster that tilecut cut takes.", valueName: "raster"), completion: .file())
  var raster: String

  @Option(
    name: [.short, .long], help: ArgumentHelp("The shop's folder. (default: NAME-shop beside the raster)"),
    completion: .directory)
  var output: String?

  @Option(help: "The shop's name. (default: the raster's)")
  var name: String?

  @Option(help: ArgumentHelp("Price and currency.", valueName: "price"))
  var price = "4.99 USD"

  @Option(help: ArgumentHelp("Port; 0 for any that is free.", valueName: "port"))
  var port = 8090

  @Flag(help: "Make the shop, and do not serve it.")
  var noServe = false

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port goes from 0 to 65535") }
    do throws(ListedPrice.Fault) { _ = try listedPrice() } catch {
      throw ValidationError("--price: \(error.message); \(error.remedy)")
    }
  }

  private func listedPrice() throws(ListedPrice.Fault) -> ListedPrice {
    let words = price.split(separator: " ").map(String.init)
    guard words.count == 2 else {
      throw ListedPrice.Fault("\"\(price)\" is not a price and a currency", remedy: "write \"4.99 EUR\"")
    }
    return try ListedPrice(checking: words[0], words[1], taxNote: nil)
  }

  /// 1. Files that are not there yet, each whole or not at all.
  /// 2. The catalogue, by `tilecut build`, which goes on where it was stopped.
  /// 3. What to edit next, and the service.
  func run() async throws {
    let raster = FileSystem.absolutePath(raster)
    guard FileSystem.kind(raster) == .file else {
      throw StoreError(.unreadableInput, at: self.raster, "is not a file", remedy: "check the name")
    }
    let (folder, file) = FileSystem.split(raster)
    let stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
    let shop = output.map(FileSystem.absolutePath) ?? "\(folder)/\(stem)-shop"
    try Self.makeFolder(shop)
    for (name, isSecret, bytes) in try contents(raster, title: stem) {
      try Self.put(bytes, "\(shop)/\(name)", isSecret: isSecret)
    }
    if FileSystem.kind("\(shop)/ledger.sqlite") == nil {
      try Ledger.create(at: "\(shop)/ledger.sqlite", policy: LedgerPolicy(), clock: .system).close()
      printLine("made \(shop)/ledger.sqlite")
    } else {
      printLine("kept \(shop)/ledger.sqlite")
    }
    try Self.build(shop)
    for line in [
      "edit next, then run this again:",
      "  \(shop)/regions.json: titles, descriptions, attribution, more regions",
      "  \(shop)/products.json: prices, bundles, free samples",
      "  \(shop)/mapstore.json: the shop's name, logo and languages, publicUrl, and whose purchases count: bundleId and "
        + "rootCertificates for the App Store, packageName and googlePublicKey for Google Play",
    ] { printLine(line) }
    guard !noServe else { return printLine("serve it: mapstore serve --config \("\(shop)/mapstore.json".shellQuoted)") }
    let serve = try ServeCommand.parse(["--config", "\(shop)/mapstore.json", "--port", "\(port)"])
    try await serve.run()
  }

  /// The files by name, and whether they are secret.
  private func contents(_ raster: String, title: String) throws -> [(String, Bool, [UInt8])] {
    let id = Self.id(title)
    let price = try listedPrice()
    let manifest = JSONValue.object([
      .init("version", .number(1)),
      .init(
        "regions",
        .array([
          .object([
            .init("id", .string(id)), .init("productId", .string(id)), .init("title", .string(title)),
            .init("category", .string("map")), .init("edition", .string("1")),
            .init("sources", .array([.string(raster)])),
          ])
        ])),
    ])
    let products = JSONValue.object([
      .init(
        "products",
        .array([
          .object([
            .init("productId", .string(id)), .init("price", .string(price.amount)),
            .init("currency", .string(price.currency)),
          ])
        ]))
    ])
    let configuration = JSONValue.object([
      .init("catalogue", .string("catalogue")), .init("ledger", .string("ledger.sqlite")),
      .init("products", .string("products.json")), .init("hmacKeyFiles", .array([.string("link.key")])),
      .init("grantKeyFiles", .array([.string("grant.key")])),
      .init("pages", .object([.init("name", .string(name ?? title))])),
    ])
    return [
      ("regions.json", false, Array(manifest.indentedText.utf8)),
      ("products.json", false, Array(products.indentedText.utf8)),
      ("mapstore.json", false, Array(configuration.indentedText.utf8)),
      ("link.key", true, Self.secret()), ("grant.key", true, Self.secret()),
    ]
  }

  /// A name for URLs and files.
  private static func id(_ title: String) -> String {
    let letters = title.lowercased().utf8.map { byte -> UInt8 in
      (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5f ? byte : UInt8(ascii: "-")
    }
    let id = String(decoding: letters.drop { $0 == UInt8(ascii: "-") || $0 == 0x5f }.prefix(60), as: UTF8.self)
    return RegionNames.isName(id) ? id : "map"
  }

  private static func secret() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  private static func makeFolder(_ path: String) throws {
    if FileSystem.kind(path) == .folder { return }
    do { try FileSystem.makeFolder(path) } catch {
      throw StoreError(
        .unavailable, at: path, "cannot be made: \(error)", remedy: "choose another folder: --output FOLDER")
    }
  }

  private static func put(_ bytes: [UInt8], _ path: String, isSecret: Bool) throws {
    if FileSystem.kind(path) != nil { return printLine("kept \(path)") }
    do {
      try AtomicFile.write(bytes, to: path, replacing: false, mode: isSecret ? 0o600 : 0o666)
    } catch {
      throw StoreError(.unavailable, at: path, "cannot be written: \(error)", remedy: "check the folder and the disk")
    }
    printLine("made \(path)")
  }

  /// Runs `tilecut build`: the program beside this one, or that of the search path.
  private static func build(_ shop: String) throws {
    let beside = FileSystem.split(FileSystem.resolvingLinks(FileSystem.executablePath)).folder + "/tilecut"
    let program = FileSystem.kind(beside) == .file ? beside : "tilecut"
    let words = [program, "build", "\(shop)/regions.json", "--output", "\(shop)/catalogue"]
    _ = StandardStreams.flush()
    var arguments = words.map { strdup($0) } + [nil]
    var variables = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    // This process blocks signals, which its threads must not receive; the other one has to end by them.
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var process = pid_t()
    let failure = posix_spawnp(&process, program, nil, &attributes, &arguments, &variables)
    guard failure == 0 else {
      throw StoreError(
        .unavailable, at: program, "cannot be run: \(FileSystem.SystemError(number: failure))",
        remedy: "install tilecut beside mapstore, or on the search path")
    }
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { break }
    }
    guard status == 0 else {
      throw StoreError(
        .unreadableInput, at: "\(shop)/regions.json", "no catalogue was built",
        remedy: "do what tilecut says above, and run this again; what is done is kept")
    }
  }
}
