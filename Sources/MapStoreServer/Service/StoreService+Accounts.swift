import Hummingbird
import MapStoreWire
import PurchaseLedger
import Synchronization

extension StoreService {
  func register(_ request: StoreRequest) async throws -> Response {
    let credentials = try await request.message(Credentials.self, bytesMax: options.limits.smallBodyBytes)
    try take(passwordsByAddress, request.address, "too many passwords were tried from this address")
    let account = try await ledger.accounts.add(login: credentials.login, password: credentials.password)
    return try Reply.message(try details(of: account), status: .created)
  }

  func signIn(_ request: StoreRequest) async throws -> Response {
    let credentials = try await request.message(Credentials.self, bytesMax: options.limits.smallBodyBytes)
    let device = try countAttempt(credentials, request)
    let lasting = Int64(options.sessionSeconds) * 1000
    let token = try await ledger.accounts.signIn(
      login: credentials.login, password: credentials.password, lasting: lasting, isPreferred: device != nil)
    guard let account = try ledger.accounts.account(for: token) else { throw Problem.wrongCredentials(status: 401) }
    let now = clock.now()
    return try Reply.message(
      SessionDetails(
        token: token.text, expiresAt: now + lasting, account: try details(of: account),
        deviceToken: devices.token(of: device ?? DeviceTokens.newDevice(of: account), now: now)),
      status: .created)
  }

  /// Counts an attempt to sign in, successful or not: of a known device by the device alone, of others by address, by
  /// login and address, and by login.
  ///
  /// - Returns: the device if it is known for this login's account.
  private func countAttempt(_ credentials: Credentials, _ request: StoreRequest) throws -> DeviceTokens.Device? {
    // In the ledger's normal form, so that other spellings of a login share its limit.
    let login = try Accounts.normalised(credentials.login)
    if let token = credentials.deviceToken, let device = devices.device(token, now: clock.now()),
      try ledger.accounts.find(login) == device.account
    {
      try take(passwordsByDevice, device.id, "too many passwords were tried on this device")
      return device
    }
    try take(passwordsByAddress, request.address, "too many passwords were tried from this address")
    let what = "too many passwords were tried for this login"
    try take(passwordsByLogin, "\(request.address) \(login)", what)
    try take(passwordsByLoginEverywhere, login, what)
    return nil
  }

  func signOut(_ request: StoreRequest) async throws -> Response {
    guard let session = request.session else { throw Problem.unauthorized }
    try await ledger.accounts.signOut(session.token)
    return Reply.noContent
  }

  func signOutEverywhere(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    try await ledger.accounts.signOutEverywhere(account)
    return Reply.noContent
  }

  func account(_ request: StoreRequest) throws -> Response {
    try Reply.message(try details(of: try request.account()))
  }

  func changePassword(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let change = try await request.message(PasswordChange.self, bytesMax: options.limits.smallBodyBytes)
    try await check(change.password, of: account)
    try await ledger.accounts.changePassword(of: account, to: change.newPassword)
    return Reply.noContent
  }

  func eraseAccount(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let erasure = try await request.message(AccountErasure.self, bytesMax: options.limits.smallBodyBytes)
    try await check(erasure.password, of: account)
    if try await !ledger.accounts.erase(account) { mustEmptyLog.withLock { $0 = true } }
    return Reply.noContent
  }

  /// Counted by the account alone, so that other clients at the same address do not lock out a session.
  private func check(_ password: String, of account: AccountID) async throws {
    try take(
      passwordsByAccount, account.description, "too many passwords were tried for this account", account: account)
    do {
      try await ledger.accounts.check(password, of: account)
    } catch let error as LedgerError where error.code == .wrongPassword {
      // Not 401: the session is valid.
      throw Rejection(.wrongCredentials(status: 403), account: account)
    }
  }

  private func details(of account: AccountID) throws -> AccountDetails {
    guard let token = try ledger.accounts.token(of: account) else { throw Problem.unauthorized }
    return AccountDetails(id: account.description, appAccountToken: token.description)
  }
}
