/// The fields that describe a transaction. Numbers stand in `store_transaction.described`; never renumbered.
enum DescribedField: UInt8, CaseIterable {
  case originalID = 0
  case productID = 1
  case productType = 2
  case purchaseDate = 3
  case expiresDate = 4
  case quantity = 5
  case ownership = 6
  case price = 7
  case reason = 8
  case purchaseToken = 9
}

/// A person's decision for what a fact says of some fields, and of those alone.
public struct Revision: Sendable, Hashable {
  /// How often there was something to decide; from 1.
  public var number: Int64
  var fields: Set<DescribedField>

  init(_ number: Int64, of fields: Set<DescribedField>) { (self.number, self.fields) = (number, fields) }

  /// The fields, as exports spell them.
  public var fieldNames: [String] { DescribedField.allCases.filter(fields.contains).map(\.name) }

  // MARK: Storage

  /// A bit for each field.
  var mask: UInt16 { fields.reduce(0) { $0 | 1 << UInt16($1.rawValue) } }

  /// Nil for bits of no field, and where there is none.
  init?(_ number: Int64, mask: UInt16) {
    self.init(number, of: Set(DescribedField.allCases.filter { mask & 1 << UInt16($0.rawValue) != 0 }))
    guard mask != 0, self.mask == mask else { return nil }
  }
}

/// When and how surely a field was said: of two values the one with the greater stamp holds.
struct FieldStamp: Sendable, Equatable, Comparable {
  /// A value that its source does not know exactly, which any exact one outranks whenever it was said.
  var isWeak = false
  var date: Int64
  var trust: Trust
  /// How often a person decided between values of the same date and trust; 0 where nobody did.
  var revision: Int64 = 0

  static func < (a: Self, b: Self) -> Bool {
    if a.isWeak != b.isWeak { return a.isWeak }
    if a.date != b.date { return a.date < b.date }
    return a.trust == b.trust ? a.revision < b.revision : a.trust < b.trust
  }
}

/// The stamps of those fields that do not have the date and trust of their row's state: mostly none, which costs nothing.
struct FieldStamps: Sendable, Equatable {
  private var entries: [Entry] = []

  private struct Entry: Sendable, Equatable {
    var field: DescribedField
    var stamp: FieldStamp
  }

  init() {}

  var isEmpty: Bool { entries.isEmpty }

  subscript(field: DescribedField) -> FieldStamp? { entries.first { $0.field == field }?.stamp }

  /// - Precondition: Fields come in the order of their numbers, so that equal stamps are equal bytes.
  mutating func append(_ field: DescribedField, _ stamp: FieldStamp) {
    entries.append(Entry(field: field, stamp: stamp))
  }

  // MARK: Storage

  /// Of each: field, whether it is weak, date, trust, revision.
  var bytes: [UInt8] {
    var encoder = CanonicalEncoder(reserving: entries.count * 19)
    for entry in entries {
      encoder.u8(entry.field.rawValue)
      encoder.bool(entry.stamp.isWeak)
      encoder.i64(entry.stamp.date)
      encoder.u8(entry.stamp.trust.rawValue)
      encoder.i64(entry.stamp.revision)
    }
    return encoder.bytes
  }

  init(_ bytes: [UInt8]) {
    var decoder = CanonicalDecoder(bytes)
    while let field = (try? decoder.u8()).flatMap(DescribedField.init), let isWeak = try? decoder.bool(),
      let date = try? decoder.i64(), let trust = (try? decoder.u8()).flatMap(Trust.init),
      let revision = try? decoder.i64()
    {
      append(field, FieldStamp(isWeak: isWeak, date: date, trust: trust, revision: revision))
    }
  }
}

extension TransactionRow {
  /// The stamp of a field that nothing else is noted of: the state's.
  var stateStamp: FieldStamp { FieldStamp(date: signedDate, trust: trust) }

  func stamp(_ field: DescribedField) -> FieldStamp { stamps[field] ?? stateStamp }

  /// Whether the row says anything of a field.
  func states(_ field: DescribedField) -> Bool {
    switch field {
    case .originalID: !isOriginal
    case .productID: !productID.isEmpty
    case .productType: productType != .unknown
    case .purchaseDate, .quantity: true
    case .expiresDate: expiresDate != nil
    case .ownership: !ownership.isEmpty
    case .price: price != nil
    case .reason: !reason.isEmpty
    case .purchaseToken: purchaseToken != nil
    }
  }

  /// The stamps of a single fact.
  ///
  /// A fact without a product (an entry of a voided list) states no quantity, and the time of the purchase at second hand. Receipts, which name no type, have
  /// dates in whole seconds: the exact ones are those of others.
  static func stamps(of row: TransactionRow, revision: Revision?) -> FieldStamps {
    var stamps = FieldStamps()
    func isRounded(_ date: Int64?) -> Bool {
      row.key.store == Store.apple.code && row.productType == .unknown && (date ?? 1) % 1000 == 0
    }
    let isBare = row.productID.isEmpty
    let weakDate = isBare || isRounded(row.purchaseDate)
    let weakEnd = isRounded(row.expiresDate)
    guard revision != nil || isBare || weakDate || weakEnd else { return stamps }
    for field in DescribedField.allCases where row.states(field) {
      var stamp = row.stateStamp
      if let revision, revision.fields.contains(field) { stamp.revision = revision.number }
      stamp.isWeak =
        switch field {
        case .purchaseDate: weakDate
        case .expiresDate: weakEnd
        case .quantity: isBare
        default: false
        }
      if stamp != row.stateStamp { stamps.append(field, stamp) }
    }
    return stamps
  }

  /// Takes the value with the greater stamp of each field; at equal stamps the greater value, so that order cannot matter.
  ///
  /// - Parameter before: The stamp of this row's state before the states were joined.
  mutating func joinDescription(_ other: TransactionRow, before: FieldStamp) {
    var join = StampJoin(
      own: stamps, ownState: before, other: other.stamps, otherState: other.stateStamp, joined: stateStamp)
    // Among originals of the same date the smallest holds.
    if join.takes(
      .originalID, states(.originalID), other.states(.originalID),
      {
        other.originalID.utf8.lexicographicallyPrecedes(originalID.utf8)
      })
    {
      originalID = other.originalID
    }
    if join.takes(
      .productID, states(.productID), other.states(.productID),
      {
        productID.utf8.lexicographicallyPrecedes(other.productID.utf8)
      })
    {
      productID = other.productID
    }
    if join.takes(.productType, states(.productType), other.states(.productType), { productType < other.productType }) {
      productType = other.productType
    }
    if join.takes(.purchaseDate, true, true, { purchaseDate < other.purchaseDate }) {
      purchaseDate = other.purchaseDate
    }
    if join.takes(
      .expiresDate, states(.expiresDate), other.states(.expiresDate),
      {
        Self.absentFirst(expiresDate, other.expiresDate, by: <)
      })
    {
      expiresDate = other.expiresDate
    }
    if join.takes(.quantity, true, true, { quantity < other.quantity }) { quantity = other.quantity }
    if join.takes(
      .ownership, states(.ownership), other.states(.ownership),
      {
        ownership.utf8.lexicographicallyPrecedes(other.ownership.utf8)
      })
    {
      ownership = other.ownership
    }
    if join.takes(.price, states(.price), other.states(.price), { Self.absentFirst(price, other.price, by: <) }) {
      price = other.price
    }
    if join.takes(
      .reason, states(.reason), other.states(.reason),
      {
        reason.utf8.lexicographicallyPrecedes(other.reason.utf8)
      })
    {
      reason = other.reason
    }
    if join.takes(
      .purchaseToken, states(.purchaseToken), other.states(.purchaseToken),
      {
        Self.absentFirst(purchaseToken, other.purchaseToken) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      })
    {
      purchaseToken = other.purchaseToken
    }
    stamps = join.stamps
  }
}

/// Decides field by field, in the order of their numbers, and gathers the stamps of what holds.
private struct StampJoin {
  let own: FieldStamps
  let ownState: FieldStamp
  let other: FieldStamps
  let otherState: FieldStamp
  let joined: FieldStamp
  private(set) var stamps = FieldStamps()

  init(own: FieldStamps, ownState: FieldStamp, other: FieldStamps, otherState: FieldStamp, joined: FieldStamp) {
    self.own = own
    self.ownState = ownState
    self.other = other
    self.otherState = otherState
    self.joined = joined
  }

  /// Whether the other's value holds.
  ///
  /// - Parameter isSmaller: Whether the own value is the one that yields at equal stamps.
  mutating func takes(
    _ field: DescribedField, _ isOwn: Bool, _ isOther: Bool, _ isSmaller: () -> Bool
  ) -> Bool {
    guard isOwn || isOther else { return false }
    let mine = isOwn ? own[field] ?? ownState : nil
    let theirs = isOther ? other[field] ?? otherState : nil
    guard let mine, let theirs else {
      note(field, mine ?? theirs)
      return mine == nil
    }
    note(field, max(mine, theirs))
    return mine == theirs ? isSmaller() : mine < theirs
  }

  private mutating func note(_ field: DescribedField, _ stamp: FieldStamp?) {
    if let stamp, stamp != joined { stamps.append(field, stamp) }
  }
}
