import Accounts
import Hummingbird
import MapStoreWire
import PurchaseLedger
import Synchronization

extension StoreService {
  func register(_ request: StoreRequest) async throws -> Response {
    let credentials = try await request.message(Credentials.self, bytesMax: options.limits.smallBodyBytes)
    try take(passwordsByAddress, request.address, "too many passwords were tried from this address")
    let account = try await ledger.accounts.add(
      login: credentials.login, password: credentials.password, from: request.address)
    return try Reply.message(try await details(of: account, request), status: .created)
  }

  func signIn(_ request: StoreRequest) async throws -> Response {
    let credentials = try await request.message(Credentials.self, bytesMax: options.limits.smallBodyBytes)
    let login = try Login(credentials.login)
    // The generation is read before the password is checked: what is given now ends with that password.
    let (known, generation) = try await request.read { [accounts = ledger.accounts] in
      let known = try accounts.find(login)
      return (known, try known.flatMap { try accounts.passwordGeneration(of: $0) } ?? 0)
    }
    var device: KnownDevices.Device?
    if let known, let token = credentials.deviceToken {
      device = try await devices.device(token, of: known, generation: generation, now: clock.now())
    }
    try countAttempt(login, known, device, from: request.address)
    let lasting = Int64(options.sessionSeconds) * 1000
    let token = try await ledger.accounts.signIn(
      login: credentials.login, password: credentials.password, lasting: lasting, isPreferred: device != nil,
      from: request.address)
    let account = try await request.read { [accounts = ledger.accounts] in try accounts.account(for: token) }
    guard let account else { throw Problem.wrongCredentials(status: 401) }
    let now = clock.now()
    let deviceToken = try await devices.note(
      device == nil ? nil : credentials.deviceToken, of: account, generation: generation, now: now)
    return try Reply.message(
      SessionDetails(
        token: token.text, expiresAt: now + lasting, account: try await details(of: account, request),
        deviceToken: deviceToken),
      status: .created)
  }

  /// Counts an attempt to sign in, successful or not: of a known device by the device, of others by address, and by
  /// login and address; of all by the login, of whose attempts a part is reserved for known devices.
  private func countAttempt(
    _ login: Login, _ account: AccountID?, _ device: KnownDevices.Device?, from address: String
  ) throws {
    let what = "too many passwords were tried for this login"
    // By the account, so that all spellings share its limit.
    let key = account?.description ?? login.folded
    if let device {
      try take(passwordsByDevice, device.id, "too many passwords were tried on this device")
      // Apart from the attempts of strangers there, who could otherwise lock the device out.
      try take(passwordsByDeviceAddress, address, "too many passwords were tried from this address")
    } else {
      try take(passwordsByAddress, address, "too many passwords were tried from this address")
      try take(passwordsByLogin, "\(address) \(key)", what)
    }
    try take(passwordsByLoginEverywhere, key, leaving: device == nil ? options.limits.passwordsReserved : 0, what)
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

  func account(_ request: StoreRequest) async throws -> Response {
    try Reply.message(try await details(of: try request.account(), request))
  }

  func changePassword(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let change = try await request.message(PasswordChange.self, bytesMax: options.limits.smallBodyBytes)
    try await check(change.password, of: account, request)
    try await ledger.accounts.changePassword(of: account, to: change.newPassword, from: request.address)
    return Reply.noContent
  }

  func eraseAccount(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let erasure = try await request.message(AccountErasure.self, bytesMax: options.limits.smallBodyBytes)
    try await check(erasure.password, of: account, request)
    if try await !ledger.accounts.erase(account) { mustEmptyLog.withLock { $0 = true } }
    return Reply.noContent
  }

  /// Counted as that of a known device, so that other clients do not lock out a session.
  private func check(_ password: String, of account: AccountID, _ request: StoreRequest) async throws {
    try take(
      passwordsByAccount, account.description, "too many passwords were tried for this account", account: account)
    try take(
      passwordsByLoginEverywhere, account.description, "too many passwords were tried for this login", account: account)
    do {
      try await ledger.accounts.check(password, of: account, from: request.address)
    } catch let error as LedgerError where error.code == .wrongPassword {
      // Not 401: the session is valid.
      throw Rejection(.wrongCredentials(status: 403), account: account)
    }
  }

  private func details(of account: AccountID, _ request: StoreRequest) async throws -> AccountDetails {
    let token = try await request.read { [accounts = ledger.accounts] in try accounts.token(of: account) }
    guard let token else { throw Problem.unauthorized }
    return AccountDetails(id: account.description, appAccountToken: token.description)
  }
}
