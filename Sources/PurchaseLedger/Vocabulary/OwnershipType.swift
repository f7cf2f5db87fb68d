/// Whether the store's customer bought it or shares it with a family member who did.
public struct OwnershipType: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let unknown = Self(rawValue: "")
  public static let purchased = Self(rawValue: "PURCHASED")
  public static let familyShared = Self(rawValue: "FAMILY_SHARED")
}
