import Accounts
import ArgumentParser
import CommandSupport
import LibC
import PurchaseLedger
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Why an operator acts, and who that is.
struct ActOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Why, for the history; no personal data: it is kept for ever.", valueName: "text"))
  var reason: String
  @Option(help: ArgumentHelp("Who decided. (default: the name of the user)", valueName: "name"))
  var by: String?

  func why() throws -> ActReason { try ActReason(reason, by: by ?? Self.user) }

  static var user: String {
    let environment = ProcessInfo.processInfo.environment
    return environment["SUDO_USER"] ?? environment["USER"] ?? "uid \(getuid())"
  }
}

extension AccountCommand {
  struct PasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "password", abstract: "Sets a password, and ends all sessions, grants and links of the account.")

    @Argument(help: "Login name or id.")
    var account: String
    @Option(
      help: ArgumentHelp("A file with the password in its first line; - for standard input.", valueName: "file"),
      completion: .file())
    var passwordFile = "-"
    @OptionGroup var act: ActOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let why = try act.why()
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let id = try ledger.accounts.existing(account)
      let password = try InputFile.password(passwordFile, login: account)
      try await ledger.accounts.changePassword(of: id, to: password, because: why)
      printLine(options.json ? JSONValue.fields([("account", .string("\(id)"))]).text : "password of \(id) set")
    }
  }

  struct TransferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "transfer", abstract: "Moves a purchase to an account, whatever account bought it.",
      discussion: "A refund later takes it from whoever has it then.")

    @Argument(help: "The id of any transaction of the purchase.")
    var transaction: String
    @Argument(help: "Login name or id of the account that gets it.")
    var account: String
    @Flag(help: "Also set the account's token as the appAccountToken of the purchase at Apple.")
    var setToken = false
    @OptionGroup var act: ActOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let why = try act.why()
      let settings = try LedgerSettings(options)
      let ledger = try settings.openLedger()
      defer { ledger.close() }
      let id = try ledger.accounts.existing(account)
      let moved = try ledger.transfer(transaction, to: id, why)
      printLine(options.json ? moved.json.text : moved.line)
      guard setToken, moved.grant.store == .apple, let token = try ledger.accounts.token(of: id) else { return }
      try await settings.appStoreClients(for: ledger).closing { clients in
        try await clients.asking { try await $0.setAppAccountToken(token, of: moved.grant.id) }
      }
    }
  }

  struct GrantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "grant", abstract: "Gives an account a product that it has not bought: a gift, or an excuse.")

    @Argument(help: "Login name or id.")
    var account: String
    @Argument(help: "The product's id.")
    var product: String
    @Option(help: ArgumentHelp("When it ends. (default: never)", valueName: "time"))
    var until: String?
    @OptionGroup var act: ActOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let why = try act.why()
      let end = try until.map { try TimeArgument.milliseconds($0, option: "--until") }
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let granted = try ledger.grant(product, to: ledger.accounts.existing(account), until: end, why)
      printLine(options.json ? granted.json.text : granted.line)
    }
  }

  struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "Takes a purchase or a gift away from whoever has it.",
      discussion: "A transfer gives it back. Refunds need no command: the stores report them.")

    @Argument(help: "The id of the purchase, or of what was granted, as entitlements lists it.")
    var transaction: String
    @OptionGroup var act: ActOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let why = try act.why()
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let taken = try ledger.revoke(transaction, why)
      printLine(options.json ? taken.json.text : taken.line)
    }
  }

  struct MergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge", abstract: "Gives all purchases of one account, present and later, to another one.",
      discussion: "The first account loses its login and sessions. This cannot be undone.")

    @Argument(help: "Login name or id of the account that ends.")
    var account: String
    @Argument(help: "Login name or id of the account that has everything then.")
    var into: String
    @OptionGroup var act: ActOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let why = try act.why()
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let (from, to) = (try ledger.accounts.existing(account), try ledger.accounts.existing(into))
      try ledger.merge(from, into: to, why)
      printLine(
        options.json
          ? JSONValue.fields([("account", .string("\(from)")), ("into", .string("\(to)"))]).text
          : "\(from) is merged into \(to)")
    }
  }

  struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "link", abstract: "Links account ids of the app's own, such as hashes, to accounts.",
      discussion: """
        Google states an obfuscatedExternalAccountId that is not a UUID; purchases with it belong to nobody until it is \
        linked. The file has a line for each: the id, a comma, and the login or id of the account.
        """)

    @Argument(help: ArgumentHelp("The file; - for standard input.", valueName: "file"), completion: .file())
    var file: String
    @OptionGroup var act: ActOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let why = try act.why()
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      var links: [(id: String, account: AccountID)] = []
      for (number, line) in try InputFile.read(file).split(separator: 0x0a).enumerated() {
        let parts = String(decoding: line, as: UTF8.self).split(separator: ",", maxSplits: 1).map {
          String($0.trimmingWhitespace)
        }
        if parts.isEmpty { continue }
        guard parts.count == 2 else {
          throw LedgerError(
            .input, at: "\(file):\(number + 1)", "is not an id, a comma and an account", remedy: "correct the line")
        }
        links.append((parts[0], try ledger.accounts.existing(parts[1])))
      }
      let count = try ledger.link(links, why)
      printLine(options.json ? JSONValue.fields([("linked", .init(count))]).text : "\(count) of \(links.count) are new")
    }
  }

  struct ConsentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "consent", abstract: "Records that a customer allows answers about refunds, or no longer.")

    @Argument(help: "Login name or id.")
    var account: String
    @Option(help: ArgumentHelp("The version of the text that the customer agreed to.", valueName: "text"))
    var version: String?
    @Flag(help: "The customer no longer allows them.")
    var withdraw = false
    @OptionGroup var options: CommonOptions

    func validate() throws {
      if (version == nil) != withdraw { throw ValidationError("Give --version or --withdraw.") }
    }

    func run() async throws {
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let id = try ledger.accounts.existing(account)
      try ledger.setConsent(id, version: version, ActReason("the customer's decision", by: ActOptions.user))
      printLine(
        options.json
          ? JSONValue.fields([("account", .string("\(id)")), ("consent", .init(version))]).text
          : version.map { "\(id) agrees to text \($0)" } ?? "\(id) agrees no longer")
    }
  }
}

/// `purchase-ledger reviewers`
struct ReviewersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reviewers", abstract: "Lets the stores' reviewers and testers use what they buy in the sandbox.",
    discussion: """
      Test purchases grant nothing where real ones are sold. Those of accounts on this list do until their day, marked \
      as review; they are in no revenue, export of revenue or reconciliation. The policy sandbox-grant-days does the \
      same for everybody.
      """,
    subcommands: [AddCommand.self, ListCommand.self, RemoveCommand.self])

  struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds an account, or moves its day.")

    @Argument(help: "Login name or id.")
    var account: String
    @Option(
      help: ArgumentHelp("When its test purchases end to count: 2026-12-31, or a time.", valueName: "time"))
    var until: String
    @Option(help: ArgumentHelp("Why, for the history.", valueName: "text"))
    var reason = "app review"
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let until = try TimeArgument.milliseconds(until, option: "--until")
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let id = try ledger.accounts.existing(account)
      try ledger.setReviewer(id, until: until, ActReason(reason, by: ActOptions.user))
      printLine(
        options.json
          ? JSONValue.fields([("account", .string("\(id)")), ("until", .string(TimeText.rfc3339(until)))]).text
          : "\(id) until \(TimeText.rfc3339(until))")
    }
  }

  struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the accounts and their days.")

    @OptionGroup var options: CommonOptions

    func run() async throws {
      let settings = try LedgerSettings(options)
      let ledger = try settings.openLedgerToRead()
      let logins = Dictionary(uniqueKeysWithValues: try ledger.accounts.list().map { ($0.id, $0.login ?? "") })
      for (account, until) in try ledger.reviewers() {
        let isOver = until <= settings.clock.now()
        printLine(
          options.json
            ? JSONValue.fields([
              ("account", .string("\(account)")), ("login", .init(logins[account])),
              ("until", .string(TimeText.rfc3339(until))), ("over", .bool(isOver)),
            ]).text
            : "\(account)  \(logins[account] ?? "")  until \(TimeText.rfc3339(until))\(isOver ? " (over)" : "")")
      }
    }
  }

  struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Takes an account off the list.")

    @Argument(help: "Login name or id.")
    var account: String
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let id = try ledger.accounts.existing(account)
      try ledger.setReviewer(id, until: nil, ActReason("removed from the list", by: ActOptions.user))
      printLine(options.json ? JSONValue.fields([("account", .string("\(id)"))]).text : "\(id) is off the list")
    }
  }
}
