import CommandConfiguration
import CommandSupport
import Logging
import ServerSupport
import Support
import TileIndex
import TileServe

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of `tileserve`: flags, environment and configuration file, each option checked.
struct TileServeSettings {
  let paths: [String]
  let options: TileServerOptions
  /// Whether each tile that is read is compared with its hash.
  let checksTiles: Bool
  let accessLog: AccessLogFile?
  let logLevel: Logger.Level
  /// The delay between SIGTERM and closing the listener.
  let drainDelaySeconds: Int
  private let settings: CommandSettings

  /// docs/reference/tileserve.schema.json is the same schema for editors. Paths in the file are relative to the working
  /// folder, as those of flags are.
  static let schema = ConfigurationSchema(
    environmentPrefix: "tileserve", manual: "see tileserve --help",
    options: ConfigurationOption.texts(
      "path", "overlay", "host", "unixSocket", "basePath", "allowedHosts", "trustedProxies", "accessLog",
      "tlsCert", "tlsKey", "web") + [
        .text("missing") { _ = try policy($0) }, .text("cors") { _ = try crossOrigin($0) },
        .text("cache") { _ = try bytes($0, "cache") },
        .text("drawingMemory") { _ = try bytes($0, "drawingMemory") }, .text("prefetch") { _ = try prefetch($0) },
        .text("fastPath") { _ = try isOn($0, "fastPath") }, .text("check") { _ = try isOn($0, "check") },
        .text("cacheControl") { _ = try checkedField($0) }, .text("publicUrl") { _ = try checkedURL($0) },
        .text("logLevel") { _ = try level($0) }, .init("port", .number(0...65_535)),
        .init("threads", .number(1...256)), .init("connections", .number(1...1_000_000)),
        .init("drainDelay", .number(0...3600)),
        .init(
          "tilesets",
          .objects(
            of: "tileset",
            [.text("missing") { _ = try policy($0) }, .text("cacheControl") { _ = try checkedField($0) }])),
        .init("$schema", .ignored),
      ])

  /// - Throws: `ConfigurationError`, `ServeError`.
  init(_ flags: TileServeFlags) throws {
    let settings = try CommandSettings(Self.schema, flags: flags.values, config: flags.work.config)
    self.settings = settings
    let bundles = flags.tilesets.path.isEmpty ? settings.list("path") : flags.tilesets.path
    guard !bundles.isEmpty else {
      throw ConfigurationError("nothing to serve: name bundles or folders, as in: tileserve /maps")
    }
    paths = bundles + (try settings.list("overlay").map(Self.checkedOverlay))
    var options = TileServerOptions()
    options.host = settings.text("host") ?? options.host
    options.port = try settings.number("port") ?? 8080
    options.raisesFileLimit = true
    options.unixSocket = settings.text("unixSocket")
    options.basePath = settings.text("basePath") ?? ""
    options.publicURL = try settings.text("publicUrl").map(Self.checkedURL)
    options.caching = try Self.checkedField(settings.text("cacheControl") ?? options.caching)
    options.allowedHosts = settings.list("allowedHosts")
    options.trustedProxies = try settings.addresses("trustedProxies")
    options.crossOrigin = try Self.crossOrigin(settings.text("cors") ?? "*")
    options.missing = try settings.text("missing").map(Self.policy)
    options.cacheBytes = try Self.bytes(settings.text("cache") ?? "64MB", "cache")
    options.drawingBytes = try Self.bytes(settings.text("drawingMemory") ?? "256MB", "drawingMemory")
    options.prefetch = try settings.text("prefetch").map(Self.prefetch) ?? options.prefetch
    options.fastPath = try settings.text("fastPath").map { try Self.isOn($0, "fastPath") } ?? options.fastPath
    options.repairCommand = { warning in
      guard warning.repair == .convert, let path = warning.path else { return nil }
      return "tilecut convert \(FileSystem.split(path).name.shellQuoted) indexed.mbtiles"
    }
    options.loopCount = try settings.number("threads")
    options.limits.connectionCountMax = try settings.number("connections") ?? options.limits.connectionCountMax
    drainDelaySeconds = try settings.number("drainDelay") ?? 2
    options.webLibraryFolders = settings.list("web") + WebLibraries.folders()
    switch (settings.text("tlsCert"), settings.text("tlsKey")) {
    case (nil, nil): break
    case (let certificate?, let key?): options.tls = .init(certificatePath: certificate, keyPath: key)
    default: throw ConfigurationError("tlsCert and tlsKey go together; give both")
    }
    logLevel = try Self.level(settings.text("logLevel") ?? "info")
    accessLog = try settings.text("accessLog").map(AccessLogFile.init)
    options.settings = { id in
      TileServerOptions.TilesetSettings(
        missing: settings.text("missing", of: id, in: "tilesets").flatMap(MissingTilePolicy.init(rawValue:)),
        caching: settings.text("cacheControl", of: id, in: "tilesets"))
    }
    self.options = options
    checksTiles = try settings.text("check").map { try Self.isOn($0, "check") } ?? false
  }

  /// Refuses settings of the file for tilesets that are not served, and folders that are not there: they would never
  /// have an effect.
  ///
  /// - Throws: `ConfigurationError` that names the first of them.
  func check(_ registry: TilesetRegistry) throws {
    try settings.checkFolders("web")
    guard let file = settings.file,
      let unknown = settings.members(of: "tilesets").map(\.name).first(where: { registry[$0] == nil })
    else { return }
    let known = registry.tilesets.map(\.id)
    let list = known.prefix(10).joined(separator: ", ") + (known.count > 10 ? " and \(known.count - 10) more" : "")
    throw ConfigurationError(
      file: file.path,
      "tilesets: \(unknown): there is no such tileset; \(known.isEmpty ? "there is none at all" : "there are \(list)")")
  }

  // MARK: Values

  private static func checkedOverlay(_ path: String) throws -> String {
    guard TilesetRegistry.isTrack(path) else {
      throw ConfigurationError(
        "--overlay \(path): is neither GPX nor GeoJSON by its name; name a .gpx or .geojson file")
    }
    return path
  }

  private static func level(_ text: String) throws -> Logger.Level {
    try CommandSettings.choice(text, option: "logLevel")
  }

  private static func policy(_ text: String) throws -> MissingTilePolicy {
    try CommandSettings.choice(text, option: "missing")
  }

  private static func prefetch(_ text: String) throws -> TileServerOptions.Prefetch {
    try CommandSettings.choice(text, option: "prefetch")
  }

  private static func isOn(_ text: String, _ option: String) throws -> Bool {
    let value: Switch = try CommandSettings.choice(text, option: option)
    return value == .on
  }

  /// The value of a header field must not contain another field.
  private static func checkedField(_ text: String) throws -> String {
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
      throw ConfigurationError(option: "cacheControl", "holds characters that no header field may have")
    }
    return text
  }

  private static func checkedURL(_ text: String) throws -> String {
    try CommandSettings.baseURL(text, option: "publicUrl", example: "https://maps.example.org/tiles")
  }

  private static func crossOrigin(_ text: String) throws -> TileServerOptions.CrossOrigin {
    switch text {
    case "*": return .any
    case "off": return .off
    default:
      let origins = CommandSettings.list(text)
      for origin in origins {
        guard let url = URL(string: origin), url.scheme != nil, url.host() != nil, url.path().isEmpty,
          origin.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else {
          throw ConfigurationError(
            option: "cors", "\"\(origin)\" is no origin such as https://app.example.org, nor * or off")
        }
      }
      return .origins(origins)
    }
  }

  private static func bytes(_ text: String, _ option: String) throws -> Int {
    if text == "0" { return 0 }
    guard let bytes = BytesArgument(argument: text) else {
      throw ConfigurationError(
        option: option, "\"\(text)\" is not a size; give bytes with or without a unit, such as 64MB")
    }
    return bytes.bytes
  }
}

/// The words of an option that is on or off.
private enum Switch: String, CaseIterable { case on, off }
