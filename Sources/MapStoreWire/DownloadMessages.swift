// Downloads: the messages that lead to a file, and the fields of HTTP by which it is sent in parts.

/// `POST /v1/downloads`: asks for the URL of a file of a region that the account owns.
public struct DownloadRequest: Sendable, Hashable, Codable {
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable { case bundle, pack, patch }

  public var regionId: String
  public var kind: Kind
  /// The edition that is wanted: 409 `edition-gone` if the catalogue has another. Nil takes the current one.
  public var edition: String?
  /// A tile pack's file, as ``RegionDetails`` names it.
  public var file: String?
  /// For a patch: the edition that is installed.
  public var fromEdition: String?

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
  public var regionId: String
  /// The edition that the file belongs to, or leads to.
  public var edition: String
  public var file: String
  public var bytes: Int
  /// 64 hexadecimal digits in lower case.
  public var sha256: String

  public init(
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

// MARK: - Ranges of bytes

/// What a `Range` field asks of a file (RFC 9110, section 14.2).
package enum ByteRange: Equatable, Sendable {
  /// Also for several ranges, other units and unreadable fields, as the specification allows.
  case whole
  case part(Range<Int>)
  /// 416.
  case unsatisfiable

  package init(_ field: String?, byteCount: Int) {
    self = .whole
    guard let field, field.lowercased().hasPrefix("bytes=") else { return }
    let ends = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, !field.contains(",") else { return }
    // A number that is too large for Int lies beyond any file.
    func number(_ text: Substring) -> Int? { isDecimal(text) ? Int(text) ?? Int.max : nil }
    switch (ends[0].isEmpty, ends[1].isEmpty) {
    case (false, true):
      guard let first = number(ends[0]) else { return }
      self = first < byteCount ? .part(first..<byteCount) : .unsatisfiable
    case (false, false):
      guard let first = number(ends[0]), let last = number(ends[1]), first <= last else { return }
      self = first < byteCount ? .part(first..<min(last, byteCount - 1) + 1) : .unsatisfiable
    case (true, false):
      guard let count = number(ends[1]) else { return }
      self = count > 0 && byteCount > 0 ? .part(max(0, byteCount - count)..<byteCount) : .unsatisfiable
    case (true, true): return
    }
  }

  /// The field that asks for a range.
  package static func field(_ range: Range<Int>) -> String { "bytes=\(range.lowerBound)-\(range.upperBound - 1)" }
}

private func isDecimal(_ text: Substring) -> Bool {
  !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
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
