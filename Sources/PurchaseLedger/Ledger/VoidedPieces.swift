/// The partial refunds of one purchase, by their dates: each takes back some of its pieces, and only together they say how many are left.
///
/// Joined as sets are: two lists that overlap count nothing twice.
struct VoidedPieces: Sendable, Equatable {
  /// Milliseconds since 1970 and pieces, by date.
  private var entries: [(date: Int64, count: Int64)] = []

  static func == (a: Self, b: Self) -> Bool { a.entries.elementsEqual(b.entries, by: ==) }

  init() {}

  init(_ fact: StoreTransaction) {
    guard let revocation = fact.revocation, let count = revocation.quantity else { return }
    entries = [(revocation.date, count)]
  }

  var isEmpty: Bool { entries.isEmpty }

  /// All pieces that were taken back.
  var count: Int64 {
    entries.reduce(0) { sum, entry in
      let (sum, overflow) = sum.addingReportingOverflow(max(0, entry.count))
      return overflow ? .max : sum
    }
  }

  mutating func join(_ other: Self) {
    for entry in other.entries {
      if let place = entries.firstIndex(where: { $0.date == entry.date }) {
        entries[place].count = max(entries[place].count, entry.count)
      } else {
        entries.insert(entry, at: entries.firstIndex { $0.date > entry.date } ?? entries.endIndex)
      }
    }
  }

  // MARK: Storage

  /// Dates and counts, one after the other, as in events.
  var bytes: [UInt8] {
    var encoder = CanonicalEncoder()
    for entry in entries {
      encoder.i64(entry.date)
      encoder.i64(entry.count)
    }
    return encoder.bytes
  }

  init(_ bytes: [UInt8]) {
    var decoder = CanonicalDecoder(bytes)
    while let date = try? decoder.i64(), let count = try? decoder.i64() { entries.append((date, count)) }
  }
}
