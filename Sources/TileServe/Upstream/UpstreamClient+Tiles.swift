import Support
import TileIndex

extension UpstreamClient {
  /// Asks for a tile of a server that has a URL for each.
  ///
  /// - Parameter known: what is kept; where it is still right the server need not send it again.
  func news(_ tile: TileID, _ known: GrowingBundle.Found?) throws -> UpstreamNews {
    guard case .template(let template) = settings.address else {
      preconditionFailure("an archive has no URLs of tiles")
    }
    var fields: [(String, String)] = []
    // The form that vector tiles are kept in.
    if settings.format == .pbf { fields.append(("Accept-Encoding", "gzip")) }
    if let known, known.bytes != nil {
      if !known.state.entityTag.isEmpty { fields.append(("If-None-Match", known.state.entityTag)) }
      if !known.state.lastModified.isEmpty { fields.append(("If-Modified-Since", known.state.lastModified)) }
    }
    let answer = try get(
      template.address(tile), fields, bytesMax: Upstream.tileBytesMax, answers: [200, 204, 304, 404, 410])
    let now = WallClock.seconds
    switch answer.status {
    case 304 where known?.bytes != nil:
      counts.add(.unchanged)
      return .unchanged(expires: expiry(answer, now))
    case 204, 304, 404, 410:
      counts.add(.missing)
      return .tile(nil, .init(fetched: now, expires: now + settings.missingSeconds), archive: nil)
    default:
      guard isTile(answer.body) else {
        counts.add(.invalid)
        throw UpstreamFailure(.invalid, "answers with something that is no tile")
      }
      counts.add(.fetched)
      return .tile(
        answer.body,
        .init(
          fetched: now, expires: expiry(answer, now), entityTag: Self.kept(answer.field("etag")),
          lastModified: Self.kept(answer.field("last-modified"))), archive: nil)
    }
  }

  private func expiry(_ answer: Answer, _ now: Int) -> Int {
    Freshness.expiry(now: now, fallback: settings.freshSeconds, field: answer.field)
  }

  /// Pages that say "no such map" come with status 200 too. Unpacked vector tiles have no mark of their own.
  private func isTile(_ bytes: [UInt8]) -> Bool {
    guard let format = bytes.withUnsafeBytes(TileFormat.init(sniffing:)) else {
      return settings.format == .pbf && !bytes.isEmpty && bytes[0] != UInt8(ascii: "<") && bytes[0] != UInt8(ascii: "{")
    }
    return (format == .pbf) == (settings.format == .pbf)
  }

  /// A field that is sent back one day must be one line and short.
  private static func kept(_ field: String?) -> String {
    guard let field, field.utf8.count <= 200, field.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else { return "" }
    return field
  }
}
