/// An account as a list shows it.
public struct AccountSummary: Sendable, Hashable {
  public var id: AccountID
  /// Nil once the account is erased.
  public var login: String?
  public var token: AccountToken
  /// Milliseconds since 1970.
  public var openedAt: Int64
  public var erasedAt: Int64?
}
