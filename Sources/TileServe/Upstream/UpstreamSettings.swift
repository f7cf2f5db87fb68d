import Support
import TileIndex

/// What the description of an upstream says (`NAME.upstream.json`): a server that has tiles, and how they are kept here. docs/http-api.md has the members.
struct UpstreamSettings: Hashable, Sendable {
  /// How the server is asked.
  enum Address: Hashable, Sendable {
    /// One URL a tile.
    case template(URLTemplate)
    /// A PMTiles archive that is read in parts.
    case archive(HTTPAddress)
  }

  var address: Address
  /// Nil for an archive that says it itself.
  var format: TileFormat?
  var zooms: ClosedRange<Int>?
  /// Degrees.
  var bounds: BoundingBox?
  var name: String?
  var attribution: String?
  var tilePixels = 256
  /// The bundle that grows.
  var file: String
  var fileBytesMax = 1 << 30
  var whenFull = GrowingBundle.WhenFull.evict
  /// True where tiles may be asked for that nobody wants yet; other people's servers are not troubled for our convenience unless their description says so.
  var fetchesAhead = false
  /// True where bytes cost: little is fetched ahead.
  var isMetered = false
  /// Requests that may begin within a second.
  var requestsPerSecond = 20
  /// Requests at a time.
  var connections = 4
  var timeoutSeconds = 10
  /// How long a tile is fresh whose server does not say.
  var freshSeconds = 7 * 86_400
  /// How long it is believed that a tile does not exist.
  var missingSeconds = 3600
  var userAgent = "tileserve/\(TileServer.version) (offline map server)"

  static let suffix = ".upstream.json"

  /// The server, for messages: a URL may hold a key.
  var host: String {
    switch address {
    case .template(let template): template.address.host
    case .archive(let address): address.host
    }
  }

  /// Reads a description.
  ///
  /// - Parameter path: the file; the bundle lies beside it unless it says otherwise.
  /// - Throws: ``ServeError`` with `.invalidOption` that names the file and the member.
  init(_ bytes: [UInt8], path: String) throws {
    let members: [JSONValue.Member]
    do {
      guard let found = try JSONValue(parsing: bytes).members else {
        throw ServeError(
          .invalidOption, "\(path): is no JSON object; it describes an upstream with url, format and zooms")
      }
      members = found
    } catch let error as JSONValue.SyntaxError {
      throw ServeError(.invalidOption, "\(path): is no JSON: \(error); correct it")
    }
    let reader = UpstreamMembers(members, path: path)
    try reader.check()
    let url =
      try reader.text("url")
      ?? { throw reader.wrong("url", "is missing: the address of tiles, with {z}, {x} and {y}") }()
    let isTemplate = url.contains("{")
    do {
      address = isTemplate ? .template(try URLTemplate(url)) : .archive(try HTTPAddress(url))
    } catch {
      throw reader.wrong("url", "\(error)")
    }
    if case .archive(let archive) = address, !archive.path.prefix(while: { $0 != "?" }).hasSuffix(".pmtiles") {
      throw reader.wrong("url", "names neither tiles ({z}, {x}, {y}) nor a .pmtiles archive")
    }
    if let word = try reader.text("format") {
      guard let known = TileFormat(lenient: word) else {
        throw reader.wrong("format", "is none of png, jpg, webp, pbf")
      }
      format = known
    } else if isTemplate {
      throw reader.wrong("format", "is missing: png, jpg, webp or pbf")
    }
    let first = try reader.number("minzoom", 0...24)
    let last = try reader.number("maxzoom", 0...24)
    if isTemplate || first != nil || last != nil {
      guard let last else { throw reader.wrong("maxzoom", "is missing: the deepest zoom that the server has") }
      guard (first ?? 0) <= last else { throw reader.wrong("minzoom", "is above maxzoom") }
      zooms = (first ?? 0)...last
    }
    bounds = try reader.bounds("bounds")
    name = try reader.text("name")
    attribution = try reader.text("attribution")
    tilePixels = try reader.number("tile-pixels", 64...2048) ?? tilePixels
    file = Self.place(try reader.text("file"), besides: path)
    fileBytesMax = try reader.bytes("file-size", 1 << 20) ?? fileBytesMax
    if let word = try reader.text("when-full") {
      guard let known = GrowingBundle.WhenFull(rawValue: word) else {
        throw reader.wrong("when-full", "is neither evict nor stop")
      }
      whenFull = known
    }
    fetchesAhead = try reader.flag("prefetch") ?? false
    isMetered = try reader.flag("metered") ?? false
    requestsPerSecond = try reader.number("rate", 1...1000) ?? requestsPerSecond
    connections = try reader.number("connections", 1...16) ?? connections
    timeoutSeconds = try reader.number("timeout", 1...120) ?? timeoutSeconds
    freshSeconds = try reader.number("fresh", 0...315_360_000) ?? freshSeconds
    missingSeconds = try reader.number("missing-fresh", 0...315_360_000) ?? missingSeconds
    userAgent = try reader.text("user-agent") ?? userAgent
    guard userAgent.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }), !userAgent.isEmpty else {
      throw reader.wrong("user-agent", "holds characters that no header field may have")
    }
  }

  /// The bundle of a description: that of the same name beside it, unless another is named.
  private static func place(_ file: String?, besides path: String) -> String {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    guard let file else { return path.dropLast(suffix.count) + ".mbtiles" }
    return file.hasPrefix("/") ? file : folder + file
  }
}
