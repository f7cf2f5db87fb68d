/// `POST /v1/accounts` and `POST /v1/sessions`: login and password.
public struct Credentials: Sendable, Hashable, Codable {
  /// 1 to 254 bytes without invisible characters; compared in lower case.
  public var login: String
  /// 8 to 1,024 characters (Unicode's code points).
  public var password: String
  /// From the last sign-in on this device, if any: failed attempts from elsewhere do not delay this device.
  public var deviceToken: String?

  /// Login and password as a person has typed them; the server normalises the login.
  public init(login: String, password: String, deviceToken: String? = nil) {
    (self.login, self.password, self.deviceToken) = (login, password, deviceToken)
  }
}

/// Answer of `POST /v1/accounts` (201) and `GET /v1/account`.
public struct AccountDetails: Sendable, Hashable, Codable {
  /// A UUID, in lower case.
  public var id: String
  /// The UUID that the app passes to the app store with each purchase, so that the purchase names its account.
  public var appAccountToken: String

  /// An account as its server names it.
  package init(id: String, appAccountToken: String) { (self.id, self.appAccountToken) = (id, appAccountToken) }
}

/// Answer of `POST /v1/sessions` (201).
public struct SessionDetails: Sendable, Hashable, Codable {
  /// For `Authorization: Bearer`.
  public var token: String
  /// Milliseconds since 1970.
  public var expiresAt: Int64
  /// Whose session it is.
  public var account: AccountDetails
  /// For ``Credentials/deviceToken``; to be kept after the session. Useless without the password.
  public var deviceToken: String?

  /// A session as its server has opened it; `expiresAt` in milliseconds since 1970.
  package init(token: String, expiresAt: Int64, account: AccountDetails, deviceToken: String? = nil) {
    (self.token, self.expiresAt, self.account) = (token, expiresAt, account)
    self.deviceToken = deviceToken
  }
}

/// `PUT /v1/account/password` (204): ends all sessions of the account.
public struct PasswordChange: Sendable, Hashable, Codable {
  /// The password until now.
  public var password: String
  /// 8 to 1,024 characters (Unicode's code points).
  public var newPassword: String

  /// Both passwords as a person has typed them.
  public init(password: String, newPassword: String) { (self.password, self.newPassword) = (password, newPassword) }
}

/// `DELETE /v1/account` (204).
public struct AccountErasure: Sendable, Hashable, Codable {
  /// The password, so that a session alone erases nothing.
  public var password: String

  /// The password as a person has typed it.
  public init(password: String) { self.password = password }
}
