package import Support

/// Stores mix numbers and text for ids and dates: these accessors take either where that is what stores do.
extension JSONValue {
  /// Empty text, which some answers have for a missing value.
  package var isEmptyText: Bool {
    if case .string(let text) = self { text.isEmpty } else { false }
  }

  /// The reason to quarantine a text in which a name occurs twice, at any depth: JSON parsers disagree on which of the
  /// two counts (RFC 8259, section 4). Evidence is parsed with `duplicates: .kept`, so that quarantined evidence still
  /// has its key.
  package var repetition: VerificationError? {
    repeatedName.map { VerificationError(.inconsistent, "\"\($0.prefix(80))\" occurs twice") }
  }

  package var bool: Bool? {
    switch self {
    case .bool(let value): value
    case .string("true"): true
    case .string("false"): false
    default: nil
    }
  }

  /// An id: text, or the digits of a whole number.
  package var identifier: String? {
    switch self {
    case .string(let text): text
    case .number(let digits) where Int64(digits) != nil: digits
    default: nil
    }
  }

  /// Whether `integer` cuts off a fraction.
  package var hasFraction: Bool {
    switch self {
    case .number(let digits), .string(let digits):
      guard Int64(digits) == nil, let value = Double(digits) else { return false }
      return value != value.rounded(.towardZero)
    default: return false
    }
  }

  /// A whole number, also written as text; a fraction is cut off. Nil beyond 64 bits.
  package var integer: Int64? {
    switch self {
    case .number(let digits), .string(let digits):
      if let value = Int64(digits) { return value }
      guard let double = Double(digits), double.isFinite, abs(double) < 9e18 else { return nil }
      return Int64(double)
    default: return nil
    }
  }
}
