/// What a `Range` field asks of a file (RFC 9110, section 14.2).
enum ByteRange: Equatable {
  case whole
  case part(Range<Int>)
  /// 416.
  case unsatisfiable

  /// Several ranges, other units and what cannot be read are answered with the whole, as the specification allows.
  init(_ field: String?, byteCount: Int) {
    self = .whole
    guard let field, field.lowercased().hasPrefix("bytes=") else { return }
    let ends = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, !field.contains(",") else { return }
    func number(_ text: Substring) -> Int? {
      guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      // Beyond any file is the same for all.
      return Int(text) ?? Int.max
    }
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
}
