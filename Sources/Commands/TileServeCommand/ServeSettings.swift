import CommandSupport
import Configuration
import Foundation
import Logging
import SystemPackage
import TileServe

/// What the command is to do, from flags, environment and file, in this order.
struct ServeSettings {
  var paths: [String]
  var options: TileServerOptions
  var accessLog: AccessLog?
  var logLevel: Logger.Level
  /// Between SIGTERM and the end of listening.
  var drainDelaySeconds: Int
  /// Nil where options come from elsewhere only.
  var file: ConfigurationFile?

  /// - Throws: ``SettingsError``, `ServeError`.
  init(_ flags: ServeFlags) async throws {
    file = try (flags.config ?? ProcessInfo.processInfo.environment["TILESERVE_CONFIG"]).flatMap {
      $0.isEmpty ? nil : try ConfigurationFile($0)
    }
    let config = try await Self.reader(flags, file)
    paths = flags.path
    if paths.isEmpty { paths = Self.list(config.string(forKey: "path")) }
    guard !paths.isEmpty else {
      throw SettingsError(.usage, "nothing to serve: name bundles or folders, as in: tileserve /maps")
    }
    options = TileServerOptions()
    options.host = config.string(forKey: "host", default: options.host)
    options.port = try config.number("port") ?? options.port
    options.unixSocket = config.string(forKey: "unix-socket")
    options.basePath = config.string(forKey: "base-path", default: "")
    options.publicURL = try config.string(forKey: "public-url").map(Self.checkedURL)
    options.caching = try Self.checkedField(config.string(forKey: "cache-control", default: options.caching))
    options.allowedHosts = Self.list(config.string(forKey: "allowed-hosts"))
    options.trustedProxies = Self.list(config.string(forKey: "trusted-proxies"))
    options.crossOrigin = try Self.crossOrigin(config.string(forKey: "cors", default: "*"))
    options.missing = try config.string(forKey: "missing").map { try Self.policy($0, "missing") }
    options.cacheBytes = try Self.bytes(config.string(forKey: "cache", default: "64MB"))
    options.prefetch = try config.string(forKey: "prefetch").map(Self.prefetch) ?? options.prefetch
    options.fastPath = try config.string(forKey: "fast-path").map(Self.fastPath) ?? options.fastPath
    options.loopCount = try config.number("threads")
    options.limits.connectionCountMax = try config.number("connections") ?? options.limits.connectionCountMax
    drainDelaySeconds = try config.number("drain-delay") ?? 2
    options.webLibraryFolders = Self.webFolders(Self.list(config.string(forKey: "web")))
    switch (config.string(forKey: "tls-cert"), config.string(forKey: "tls-key")) {
    case (nil, nil): break
    case (let certificate?, let key?): options.tls = .init(certificatePath: certificate, keyPath: key)
    default: throw SettingsError(.usage, "--tls-cert and --tls-key go together; give both")
    }
    logLevel = try Self.level(config.string(forKey: "log-level", default: "info"))
    accessLog = try config.string(forKey: "access-log").map(LogFile.open)
    options.settings = { id in
      let tileset = config.scoped(to: ConfigKey(["tilesets", id]))
      return TileServerOptions.TilesetSettings(
        missing: tileset.string(forKey: "missing").flatMap(MissingTilePolicy.init(rawValue:)),
        caching: tileset.string(forKey: "cache-control"))
    }
  }

  private static func reader(_ flags: ServeFlags, _ file: ConfigurationFile?) async throws -> ConfigReader {
    var providers: [any ConfigProvider] = [
      InMemoryProvider(values: flags.values),
      EnvironmentVariablesProvider().prefixKeys(with: "tileserve"),
    ]
    if let file {
      do {
        providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(file.path)))
      } catch {
        throw SettingsError(.configuration, "\(file.path): cannot be used: \(error)")
      }
    }
    return ConfigReader(providers: providers)
  }

  /// The options that are numbers.
  static let numbers: [String: ClosedRange<Int>] = [
    "port": 0...65_535, "threads": 1...256, "connections": 1...1_000_000, "drain-delay": 0...3600,
  ]

  /// Throws when an option cannot have this value.
  static func check(_ text: String, _ name: String) throws {
    switch name {
    case "missing": _ = try policy(text, name)
    case "cors": _ = try crossOrigin(text)
    case "cache": _ = try bytes(text)
    case "prefetch": _ = try prefetch(text)
    case "fast-path": _ = try fastPath(text)
    case "cache-control": _ = try checkedField(text)
    case "public-url": _ = try checkedURL(text)
    case "log-level": _ = try level(text)
    default: break
    }
  }

  private static func level(_ text: String) throws -> Logger.Level {
    guard let level = Logger.Level(rawValue: text) else {
      let words = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw SettingsError(.usage, "log-level: \"\(text)\" is none of \(words)")
    }
    return level
  }

  static func list(_ text: String?) -> [String] {
    (text ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  static func policy(_ text: String, _ name: String) throws -> MissingTilePolicy {
    guard let policy = MissingTilePolicy(rawValue: text) else {
      let words = MissingTilePolicy.allCases.map(\.rawValue).joined(separator: ", ")
      throw SettingsError(.usage, "\(name): \"\(text)\" is none of \(words)")
    }
    return policy
  }

  private static func prefetch(_ text: String) throws -> TileServerOptions.Prefetch {
    guard let mode = TileServerOptions.Prefetch(rawValue: text) else {
      throw SettingsError(.usage, "prefetch: \"\(text)\" is none of auto, on, off")
    }
    return mode
  }

  private static func fastPath(_ text: String) throws -> Bool {
    guard let word = Switch(rawValue: text) else {
      throw SettingsError(.usage, "fast-path: \"\(text)\" is none of on, off")
    }
    return word == .on
  }

  /// A field's value must not bring other fields with it.
  static func checkedField(_ text: String) throws -> String {
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
      throw SettingsError(.usage, "cache-control: holds characters that no header field may have")
    }
    return text
  }

  private static func checkedURL(_ text: String) throws -> String {
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil, url.query() == nil
    else {
      throw SettingsError(.usage, "public-url: \"\(text)\" is no URL such as https://maps.example.org/tiles")
    }
    return text
  }

  private static func crossOrigin(_ text: String) throws -> TileServerOptions.CrossOrigin {
    switch text {
    case "*": return .any
    case "off": return .off
    default:
      let origins = list(text)
      for origin in origins {
        guard let url = URL(string: origin), url.scheme != nil, url.host() != nil, url.path().isEmpty,
          origin.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else {
          throw SettingsError(.usage, "cors: \"\(origin)\" is no origin such as https://app.example.org, nor * or off")
        }
      }
      return .origins(origins)
    }
  }

  private static func bytes(_ text: String) throws -> Int {
    if text == "0" { return 0 }
    guard let bytes = BytesArgument(argument: text) else {
      throw SettingsError(.usage, "cache: \"\(text)\" is no number of bytes such as 64MB")
    }
    return bytes.bytes
  }

  /// The folders given, then those beside the program, then Debian's.
  private static func webFolders(_ given: [String]) -> [String] {
    let program = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
      .resolvingSymlinksInPath().deletingLastPathComponent()
    let beside = ["web", "../web", "../../web", "../share/tileserve/web"].map {
      program.appendingPathComponent($0).standardizedFileURL.path
    }
    return given + beside + TileServerOptions.usualWebLibraryFolders
  }
}

extension ServeFlags {
  /// The flags that were given, by the names of the configuration.
  var values: [AbsoluteConfigKey: ConfigValue] {
    var values: [AbsoluteConfigKey: ConfigValue] = [:]
    func set(_ name: String, _ value: String?) {
      if let value { values[AbsoluteConfigKey([name])] = ConfigValue(.string(value), isSecret: false) }
    }
    func set(_ name: String, _ value: Int?) {
      if let value { values[AbsoluteConfigKey([name])] = ConfigValue(.int(value), isSecret: false) }
    }
    set("host", host)
    set("port", port)
    set("unix-socket", unixSocket)
    set("cache", cache.map { String($0.bytes) })
    set("prefetch", prefetch?.rawValue)
    set("fast-path", fastPath?.rawValue)
    set("base-path", basePath)
    set("public-url", publicUrl)
    set("missing", missing?.rawValue)
    set("cache-control", cacheControl)
    set("cors", cors)
    set("allowed-hosts", allowedHosts)
    set("trusted-proxies", trustedProxies)
    set("access-log", accessLog)
    set("log-level", logLevel)
    set("tls-cert", tlsCert)
    set("tls-key", tlsKey)
    set("threads", threads)
    set("connections", connections)
    set("drain-delay", drainDelay)
    set("web", web)
    return values
  }
}

extension ConfigReader {
  /// A number within its range; a value that is none is an error, not the default.
  fileprivate func number(_ name: String) throws -> Int? {
    let key = ConfigKey([name])
    guard let range = ServeSettings.numbers[name],
      let text = string(forKey: key) ?? int(forKey: key).map(String.init)
    else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw SettingsError(.usage, "\(name): \"\(text)\" is no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
