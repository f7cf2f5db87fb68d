import Support
import TileIndex

/// The description of an upstream (`NAME.upstream.json`): a tile server, and how its tiles are cached here.
/// docs/how-to/upstreams.md lists the members.
struct UpstreamSettings: Hashable, Sendable {
  /// How tiles are requested.
  enum Address: Hashable, Sendable {
    /// One URL a tile.
    case template(URLTemplate)
    /// A PMTiles archive that is read in parts.
    case archive(HTTPAddress)
  }

  var address: Address
  /// Nil for an archive, which has it in its header.
  var format: TileFormat?
  var zooms: ClosedRange<Int>?
  /// Degrees.
  var bounds: BoundingBox?
  var name: String?
  var attribution: String?
  var tilePixels = 256
  /// The bundle with its tiles.
  var file: String
  var fileBytesMax = 1_000_000_000
  var whenFull = UpstreamTileStore.WhenFull.evict
  /// True if tiles may be prefetched. Off unless the description allows it, because public servers forbid it.
  var fetchesAhead = false
  /// True for a metered upstream, which limits prefetching.
  var isMetered = false
  /// Requests that may begin within a second.
  var requestsPerSecond = 20
  /// Requests at a time.
  var connections = 4
  var timeoutSeconds = 10
  /// The freshness lifetime in seconds if the server sends none.
  var freshSeconds = 7 * 86_400
  /// The freshness lifetime in seconds of the answer that a tile does not exist.
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
          .invalidOption, "is no JSON object",
          remedy: "describe an upstream with url, format and zooms", path: path)
      }
      members = found
    } catch let error as JSONValue.SyntaxError {
      throw ServeError(.invalidOption, "is no JSON: \(error)", remedy: "correct it", path: path)
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
    tilePixels = try reader.number("tilePixels", 64...2048) ?? tilePixels
    let file = try reader.text("file")
    // The description may come from a stranger; who runs the server names folders.
    if let file, file.hasPrefix("/") || file.split(separator: "/").contains("..") {
      throw reader.wrong("file", "lies outside the folder of the description", remedy: "name a file within it")
    }
    self.file = Self.place(file, besides: path)
    guard Self.isWithin(FileSystem.split(path).folder, self.file) else {
      throw reader.wrong(
        "file", "is a symbolic link to what lies outside the folder of the description, or lies behind one",
        remedy: "name a file within the folder")
    }
    fileBytesMax = try reader.bytes("fileSize", 1_000_000) ?? fileBytesMax
    if let word = try reader.text("whenFull") {
      guard let known = UpstreamTileStore.WhenFull(rawValue: word) else {
        throw reader.wrong("whenFull", "is neither evict nor stop")
      }
      whenFull = known
    }
    fetchesAhead = try reader.flag("prefetch") ?? false
    isMetered = try reader.flag("metered") ?? false
    requestsPerSecond = try reader.number("rate", 1...1000) ?? requestsPerSecond
    connections = try reader.number("connections", 1...16) ?? connections
    timeoutSeconds = try reader.number("timeout", 1...120) ?? timeoutSeconds
    freshSeconds = try reader.number("fresh", 0...315_360_000) ?? freshSeconds
    missingSeconds = try reader.number("missingFresh", 0...315_360_000) ?? missingSeconds
    userAgent = try reader.text("userAgent") ?? userAgent
    guard userAgent.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }), !userAgent.isEmpty else {
      throw reader.wrong("userAgent", "holds characters that no header field may have")
    }
  }

  /// False where symbolic links lead out of a folder, also to a file that does not exist yet. A file in a folder that
  /// does not exist is nowhere.
  private static func isWithin(_ folder: String, _ file: String) -> Bool {
    let real = FileSystem.resolvingLinks(file)
    guard real != file, let folder = try? FileSystem.realPath(folder) else { return true }
    return real.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
  }

  /// The bundle of a description: that of the same name beside it, unless another is named.
  private static func place(_ file: String?, besides path: String) -> String {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    guard let file else { return path.dropLast(suffix.count) + ".mbtiles" }
    return folder + file
  }
}

/// The members of an upstream's description, with messages that name file and member.
struct UpstreamMembers {
  private let members: [JSONValue.Member]
  private let path: String

  private static let names: Set<String> = [
    "url", "format", "minzoom", "maxzoom", "bounds", "name", "attribution", "tilePixels", "file", "fileSize",
    "whenFull", "metered", "connections", "timeout", "fresh", "missingFresh", "userAgent",
    "prefetch", "rate",
  ]

  init(_ members: [JSONValue.Member], path: String) { (self.members, self.path) = (members, path) }

  func wrong(_ name: String, _ reason: String, remedy: String? = nil) -> ServeError {
    ServeError(.invalidOption, "\(name): \(reason)", remedy: remedy, path: path)
  }

  /// Refuses unknown members, so that typing errors are noticed.
  func check() throws {
    for member in members where !Self.names.contains(member.name) {
      let near = Spelling.nearest(to: member.name, among: Self.names.sorted()).map { "did you mean \"\($0)\"?" }
      throw wrong(
        member.name, "is not known", remedy: near ?? "there are \(Self.names.sorted().joined(separator: ", "))")
    }
  }

  private func value(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }

  func text(_ name: String) throws -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string, !text.isEmpty, !text.utf8.contains(0) else {
      throw wrong(name, "must be a text in quotation marks")
    }
    return text
  }

  func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
    guard let value = value(name) else { return nil }
    guard case .number(let digits) = value, let number = Int(digits), range.contains(number) else {
      throw wrong(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func flag(_ name: String) throws -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .bool(let flag) = value else { throw wrong(name, "must be true or false") }
    return flag
  }

  /// Bytes, as a number or as a text such as `500MB`.
  func bytes(_ name: String, _ least: Int) throws -> Int? {
    guard let value = value(name) else { return nil }
    let text = value.string ?? { if case .number(let digits) = value { digits } else { "" } }()
    guard let bytes = ByteCount.bytes(text), bytes >= least else {
      throw wrong(name, "must be a number of bytes such as 500MB, at least \(least / 1_000_000)MB")
    }
    return bytes
  }

  /// West, south, east, north.
  func bounds(_ name: String) throws -> BoundingBox? {
    guard let value = value(name) else { return nil }
    let numbers = (value.array ?? []).compactMap { part -> Double? in
      if case .number(let digits) = part { Double(digits) } else { nil }
    }
    guard numbers.count == 4, numbers[0] < numbers[2], numbers[1] < numbers[3], abs(numbers[0]) <= 180,
      abs(numbers[2]) <= 180, abs(numbers[1]) <= 90, abs(numbers[3]) <= 90
    else { throw wrong(name, "must be [west, south, east, north] in degrees") }
    return BoundingBox(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
  }
}
