import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger backup`
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copies the ledger into a file that is a ledger by itself, while others write.",
    discussion: """
      The copy has the ledger's state at the start of the backup. It is published once its hash chain is checked and \
      it is synced to the disk; only its owner can read it. A plain copy of the ledger's file may lack what is in the \
      -wal file beside it. docs/how-to/backup.md says how to restore.
      """)

  @Argument(help: ArgumentHelp("The copy, such as copy.sqlite.", valueName: "file"), completion: .file())
  var second: String?
  @Option(name: [.short, .long], help: "The copy, as in the other commands.", completion: .file())
  var output: String?
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @Flag(help: "Move what the spool has before the copy to the end of FILE.spool; the spool goes on empty.")
  var rotateSpool = false
  @OptionGroup var progress: ProgressOption
  @OptionGroup var options: CommonOptions

  func validate() throws {
    guard (second == nil) != (output == nil) else {
      throw ValidationError("name one file for the copy: purchase-ledger backup FILE")
    }
    if (second ?? output) == "-" {
      throw ValidationError(
        "a copy is not written to standard output; name a file, and ./- where it shall be called so")
    }
  }

  func run() async throws {
    let file = second ?? output ?? ""
    let settings = try LedgerSettings(options)
    let ledger = rotateSpool ? try settings.openLedger() : try settings.openLedgerToRead()
    // Before the copy begins, so that the copy has all that is moved.
    let spool = rotateSpool ? try ledger.spoolMark() : nil
    let backup: Ledger.Backup
    do {
      backup = try await progress.showing("pages") { printer in
        try ledger.backup(to: file, replacing: force) { printer.show($0, of: $1) }
      }
    } catch let error as LedgerError where error.code == .exists {
      let remedy = "\(error.remedy.map { "\($0), or " } ?? "")replace it with --force"
      throw LedgerError(error.code, at: error.path, error.message, remedy: remedy)
    }
    let isRotated = try spool.map { try ledger.rotateSpool($0, to: file + ".spool") } ?? true
    ledger.close()
    if !isRotated {
      printError("purchase-ledger: the spool was shortened by an erasure meanwhile, and stays as it is")
    }
    settings.note(LastRunNote(isClean: true), of: LastRunNote.backup)
    let head = Hexadecimal.text(backup.head)
    if options.json {
      let fields: [(String, JSONValue)] = [
        ("backup", .string(file)), ("events", .init(backup.events)), ("head", .string(head)),
      ]
      printText(JSONValue.fields(fields).text)
    } else {
      printLine("\(file): \(backup.events) events")
      printLine("head \(head)")
    }
  }
}

/// `purchase-ledger rebuild`
struct RebuildCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rebuild", abstract: "Recreates the projections from the events.")

  @OptionGroup var progress: ProgressOption
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedger()
    defer { ledger.close() }
    let count = try await progress.showing("events") { printer in
      var count = 0
      try ledger.rebuild { done, total in
        count = total
        printer.show(done, of: total)
      }
      return count
    }
    printLine(options.json ? JSONValue.fields([("events", .init(count))]).text : "rebuilt from \(count) events")
  }
}
