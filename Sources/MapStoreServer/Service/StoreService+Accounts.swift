import Hummingbird
import MapStoreWire
import PurchaseLedger
import Synchronization

extension StoreService {
  func register(_ request: StoreRequest) async throws -> Response {
    let credentials = try await self.credentials(request)
    let account = try await ledger.accounts.add(login: credentials.login, password: credentials.password)
    return try Reply.message(try details(of: account), status: .created)
  }

  func signIn(_ request: StoreRequest) async throws -> Response {
    let credentials = try await self.credentials(request)
    let lasting = Int64(options.sessionSeconds) * 1000
    let token = try await ledger.accounts.signIn(
      login: credentials.login, password: credentials.password, lasting: lasting)
    guard let account = try ledger.accounts.account(for: token) else { throw Problem.wrongCredentials(status: 401) }
    return try Reply.message(
      SessionDetails(token: token.text, expiresAt: clock.now() + lasting, account: try details(of: account)),
      status: .created)
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
    try await check(change.password, of: account, request)
    try await ledger.accounts.changePassword(of: account, to: change.newPassword)
    return Reply.noContent
  }

  func eraseAccount(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let erasure = try await request.message(AccountErasure.self, bytesMax: options.limits.smallBodyBytes)
    try await check(erasure.password, of: account, request)
    if try await !ledger.accounts.erase(account) { mustEmptyLog.withLock { $0 = true } }
    return Reply.noContent
  }

  /// Reads who somebody says to be; each attempt counts, whatever comes of it.
  private func credentials(_ request: StoreRequest) async throws -> Credentials {
    let credentials = try await request.message(Credentials.self, bytesMax: options.limits.smallBodyBytes)
    try take(passwordsByAddress, request.address, "too many passwords were tried from this address")
    if request.route == .signIn {
      // As the ledger reads it: another way to write a login is no other login.
      try take(
        passwordsByLogin, "login \(try Accounts.normalised(credentials.login))",
        "too many passwords were tried for this login")
    }
    return credentials
  }

  private func check(_ password: String, of account: AccountID, _ request: StoreRequest) async throws {
    try take(passwordsByAddress, request.address, "too many passwords were tried from this address", account: account)
    // No login that somebody may choose is this key.
    try take(
      passwordsByLogin, "account \(account)", "too many passwords were tried for this account", account: account)
    do {
      try await ledger.accounts.check(password, of: account)
    } catch let error as LedgerError where error.code == .wrongPassword {
      // Not 401: the session is good.
      throw Rejection(.wrongCredentials(status: 403), account: account)
    }
  }

  private func details(of account: AccountID) throws -> AccountDetails {
    guard let token = try ledger.accounts.token(of: account) else { throw Problem.unauthorized }
    return AccountDetails(id: account.description, appAccountToken: token.description)
  }
}
