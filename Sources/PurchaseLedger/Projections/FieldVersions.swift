/// When and how reliably a field's value was stated: of two values the one with the greater version wins.
struct FieldVersion: Sendable, Equatable, Comparable {
  /// An inexact value. Every exact one wins over it, whatever its date.
  var isWeak = false
  var date: Int64
  var trust: Trust
  /// How often an operator decided between values of the same date and trust; 0 for never.
  var revision: Int64 = 0

  static func < (a: Self, b: Self) -> Bool {
    if a.isWeak != b.isWeak { return a.isWeak }
    if a.date != b.date { return a.date < b.date }
    return a.trust == b.trust ? a.revision < b.revision : a.trust < b.trust
  }
}

/// The versions of fields whose date or trust differs from that of the row's state; usually none, which needs no
/// storage.
struct FieldVersions: Sendable, Equatable {
  private var entries: [Entry] = []

  private struct Entry: Sendable, Equatable {
    var field: DescribedField
    var version: FieldVersion
  }

  init() {}

  var isEmpty: Bool { entries.isEmpty }

  subscript(field: DescribedField) -> FieldVersion? { entries.first { $0.field == field }?.version }

  /// - Precondition: Fields are appended in the order of their numbers, so that equal versions have equal bytes.
  mutating func append(_ field: DescribedField, _ version: FieldVersion) {
    entries.append(Entry(field: field, version: version))
  }

  // MARK: Storage

  /// For each version: field, whether it is weak, date, trust, revision.
  var bytes: [UInt8] {
    var encoder = CanonicalEncoder(reserving: entries.count * 19)
    for entry in entries {
      encoder.u8(entry.field.rawValue)
      encoder.bool(entry.version.isWeak)
      encoder.i64(entry.version.date)
      encoder.u8(entry.version.trust.rawValue)
      encoder.i64(entry.version.revision)
    }
    return encoder.bytes
  }

  init(_ bytes: [UInt8]) {
    var decoder = CanonicalDecoder(bytes)
    while let field = (try? decoder.u8()).flatMap(DescribedField.init), let isWeak = try? decoder.bool(),
      let date = try? decoder.i64(), let trust = (try? decoder.u8()).flatMap(Trust.init),
      let revision = try? decoder.i64()
    {
      append(field, FieldVersion(isWeak: isWeak, date: date, trust: trust, revision: revision))
    }
  }
}
