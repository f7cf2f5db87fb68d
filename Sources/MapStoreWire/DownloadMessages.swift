// Downloads: the messages that lead to a file, and the parts of it that a client has.

/// `POST /v1/downloads`: asks for the URL of a file of a region that the account owns.
public struct DownloadRequest: Sendable, Hashable, Codable {
  /// What the file is.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The whole region.
    case bundle
    /// One tile pack of a region that is split.
    case pack
    /// What leads from the installed edition to the wanted one.
    case patch
  }

  /// A region that the account owns.
  public var regionId: String
  /// What is wanted of it.
  public var kind: Kind
  /// The edition that is wanted: 409 `edition-gone` if the catalogue has another. Nil takes the current one.
  public var edition: String?
  /// A tile pack's file, as ``RegionDetails`` names it.
  public var file: String?
  /// For a patch: the edition that is installed.
  public var fromEdition: String?

  /// A request; `file` for a tile pack, `fromEdition` for a patch.
  public init(
    regionId: String, kind: Kind, edition: String? = nil, file: String? = nil, fromEdition: String? = nil
  ) {
    self.regionId = regionId
    self.kind = kind
    self.edition = edition
    self.file = file
    self.fromEdition = fromEdition
  }
}

/// Answer to ``DownloadRequest`` (201).
///
/// The URL answers GET and HEAD with `Range` and `If-Range`, without a session. Its `ETag` is the SHA-256 in quotes,
/// so a download can be resumed through a newer URL.
public struct DownloadTicket: Sendable, Hashable, Codable {
  /// Absolute if the server knows its public address, else a path with query.
  public var url: String
  /// Milliseconds since 1970. A transfer that has begun by then continues.
  public var expiresAt: Int64
  /// The region of the request.
  public var regionId: String
  /// The edition that the file belongs to, or leads to.
  public var edition: String
  /// The file's name in the catalogue.
  public var file: String
  /// The size of the file.
  public var bytes: Int
  /// 64 hexadecimal digits in lower case.
  public var sha256: String

  /// A file with its size, hash and URL; `expiresAt` in milliseconds since 1970.
  package init(
    url: String, expiresAt: Int64, regionId: String, edition: String, file: String, bytes: Int, sha256: String
  ) {
    self.url = url
    self.expiresAt = expiresAt
    self.regionId = regionId
    self.edition = edition
    self.file = file
    self.bytes = bytes
    self.sha256 = sha256
  }
}

/// A set of bytes of a file: ranges in ascending order that do not touch.
package struct ByteIntervals: Hashable, Sendable {
  package private(set) var ranges: [Range<Int>]

  package init(_ range: Range<Int> = 0..<0) { ranges = range.isEmpty ? [] : [range] }

  package var isEmpty: Bool { ranges.isEmpty }
  package var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }

  package mutating func insert(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    var joined = range
    var others: [Range<Int>] = []
    for other in ranges {
      if other.upperBound < joined.lowerBound || other.lowerBound > joined.upperBound {
        others.append(other)
      } else {
        joined = min(joined.lowerBound, other.lowerBound)..<max(joined.upperBound, other.upperBound)
      }
    }
    others.insert(joined, at: others.firstIndex { $0.lowerBound > joined.lowerBound } ?? others.count)
    ranges = others
  }

  package mutating func subtract(_ taken: Range<Int>) {
    guard !taken.isEmpty else { return }
    ranges = ranges.flatMap { range in
      guard range.overlaps(taken) else { return [range] }
      let before = range.lowerBound..<max(range.lowerBound, min(taken.lowerBound, range.upperBound))
      let after = min(range.upperBound, max(taken.upperBound, range.lowerBound))..<range.upperBound
      return [before, after].filter { !$0.isEmpty }
    }
  }

  /// Drops all ranges but the first `count`.
  package mutating func truncate(to count: Int) { ranges = Array(ranges.prefix(count)) }

  /// The parts of a range that are in the set.
  package func intersection(_ range: Range<Int>) -> [Range<Int>] {
    ranges.compactMap { own in
      let common = own.clamped(to: range)
      return common.isEmpty ? nil : common
    }
  }
}
