import Accounts
import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger account`
struct AccountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Adds, lists, helps and erases accounts.",
    discussion: """
      What is done for a customer is an event with its reason and author, which history and export show.
      """,
    subcommands: [
      AddCommand.self, ListCommand.self, PasswordCommand.self, TransferCommand.self, GrantCommand.self,
      RevokeCommand.self, MergeCommand.self, LinkCommand.self, ConsentCommand.self, EraseCommand.self,
    ])

  struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Adds an account and prints its id and token.",
      discussion: """
        The password is the first line of --password-file, or of standard input; other lines are left alone. A \
        terminal asks for it and does not show it.
        """
    )

    @Argument(help: "The login name.")
    var login: String
    @Option(
      help: ArgumentHelp("A file with the password in its first line; - for standard input.", valueName: "file"),
      completion: .file())
    var passwordFile = "-"
    @Option(help: ArgumentHelp("The appAccountToken that the app uses already.", valueName: "uuid"))
    var token: String?
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let settings = try LedgerSettings(options)
      let token = try self.token.map { text in
        guard let token = AccountToken(text) else { throw ValidationError("--token must be a UUID, not \(text)") }
        return token
      }
      let ledger = try settings.openLedger()
      defer { ledger.close() }
      let accounts = ledger.accounts
      let password = try InputFile.password(passwordFile, login: login)
      let id = try await accounts.add(login: login, password: password, token: token)
      let made = try accounts.token(of: id)
      if options.json {
        printLine(JSONValue.fields([("account", .string("\(id)")), ("token", .init(made?.description))]).text)
      } else {
        printText("account \(id)\ntoken   \(made?.description ?? "")")
      }
    }
  }

  struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the accounts.")

    @OptionGroup var options: CommonOptions

    func run() async throws {
      for account in try LedgerSettings(options).openLedgerToRead().accounts.list() {
        if options.json {
          printLine(
            JSONValue.fields([
              ("account", .string("\(account.id)")), ("login", .init(account.login)),
              ("token", .string("\(account.token)")), ("erased", .bool(account.erasedAt != nil)),
            ]).text)
        } else {
          printLine("\(account.id)  \(account.erasedAt != nil ? "(erased)" : account.login ?? "")")
        }
      }
    }
  }

  struct EraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "erase", abstract: "Erases a person's data; the ledger keeps a pseudonym.")

    @Argument(help: "Login name or id.")
    var account: String
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let ledger = try LedgerSettings(options).openLedger()
      defer { ledger.close() }
      let accounts = ledger.accounts
      let id = try accounts.existing(account)
      let isLogEmpty = try await accounts.erase(id)
      if !isLogEmpty {
        printError(
          """
          purchase-ledger: the ledger's -wal file still holds the erased rows, because another process reads; it is \
          emptied when that ends and something is written
          """
        )
      }
      printLine(
        options.json
          ? JSONValue.fields([("erased", .string("\(id)")), ("logEmptied", .bool(isLogEmpty))]).text : "erased \(id)")
    }
  }
}

extension Accounts {
  /// - Throws: `LedgerError` when there is none.
  func existing(_ loginOrID: String) throws -> AccountID {
    guard let id = try find(loginOrID) else {
      throw LedgerError(
        .account, at: loginOrID, "is no account's login or id", remedy: "see purchase-ledger account list")
    }
    return id
  }
}
