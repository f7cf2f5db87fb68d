import ArgumentParser
import CommandSupport
import MapStoreClient
import MapStoreWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The login, and where its password comes from: the environment, or standard input.
struct CredentialFlags: ParsableArguments {
  @Argument(help: "The login name.")
  var login: String

  static let help = "The password is taken from the environment (MAPSTORE_PASSWORD), else a line of standard input."

  func credentials() throws -> Credentials {
    if let password = ProcessInfo.processInfo.environment["MAPSTORE_PASSWORD"], !password.isEmpty {
      return Credentials(login: login, password: password)
    }
    guard let line = PasswordPrompt.line(login: login), !line.isEmpty else {
      throw ValidationError("there is no password; set MAPSTORE_PASSWORD, or give it as a line of standard input")
    }
    return Credentials(login: login, password: line)
  }
}

/// `mapstore client register`
struct RegisterCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "register", abstract: "Makes an account and signs in.", discussion: CredentialFlags.help)
  @OptionGroup var flags: ClientFlags
  @OptionGroup var person: CredentialFlags

  func run() async throws {
    let credentials = try person.credentials()
    let device = try flags.device()
    _ = try await device.client.register(credentials)
    try await SignIn.run(device, credentials, flags)
  }
}

/// `mapstore client login`
struct LoginCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Signs in.", discussion: CredentialFlags.help)
  @OptionGroup var flags: ClientFlags
  @OptionGroup var person: CredentialFlags

  func run() async throws {
    let credentials = try person.credentials()
    try await SignIn.run(try flags.device(), credentials, flags)
  }
}

/// `mapstore client logout`
struct LogoutCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "Ends the session; installed bundles stay.")
  @OptionGroup var flags: ClientFlags
  @Flag(help: "End the sessions of all devices.")
  var everywhere = false

  func run() async throws {
    let device = try flags.device()
    do {
      if everywhere { try await device.client.signOutEverywhere() } else { try await device.client.signOut() }
    } catch let error as MapStoreError where error.code == .signedOut {
      // The session has already ended; the device still deletes it.
      try await device.manager.forgetAccount()
      throw error
    }
    try await device.manager.forgetAccount()
    guard flags.json else { return print("signed out\(everywhere ? " everywhere" : "")") }
    printJSON(["signedOut": true, "everywhere": everywhere])
  }
}

private enum SignIn {
  static func run(_ device: ClientDevice, _ credentials: Credentials, _ flags: ClientFlags) async throws {
    let details = try await device.client.signIn(credentials)
    // Also if the previous account's session ended long ago.
    try await device.manager.belong(to: details.account.id)
    let keys = try await device.client.grantKeys().keys
    try ClientMemory(
      server: device.client.address, session: details, deviceToken: device.client.session.deviceToken, grantKeys: keys
    ).write(device.folder)
    // Grants let owned regions open without network. If this fails, sync reports why.
    try? await device.manager.refreshGrants(from: device.client)
    if flags.json {
      printJSON(details.account)
    } else {
      printLine("signed in to \(device.client.address) as \(credentials.login)")
    }
  }
}
