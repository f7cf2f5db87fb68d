public import ArgumentParser
import CommandSupport
import Foundation
public import PurchaseLedger

/// `purchase-ledger export`
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Writes the events as JSON Lines, or the postings as an hledger journal.",
    discussion: "Both hold the last event's hash, the head: kept elsewhere, verify --head compares with it.")

  @Option(help: "jsonl or hledger.")
  var format: ExportFormat = .jsonLines
  @Option(name: [.short, .long], help: ArgumentHelp("Where to. (default: standard output)", valueName: "file"))
  var output: String?
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try await LedgerSettings(options).openLedger()
    var handle = FileHandle.standardOutput
    if let output {
      guard FileManager.default.createFile(atPath: output, contents: nil),
        let file = FileHandle(forWritingAtPath: output)
      else { throw LedgerError(.input, at: output, "cannot be written; check the folder and permissions") }
      handle = file
    }
    var buffer = Data()
    func flush() throws {
      do { try handle.write(contentsOf: buffer) } catch {
        throw LedgerError(.input, at: output ?? "standard output", "cannot be written: \(error.localizedDescription)")
      }
      buffer.removeAll(keepingCapacity: true)
    }
    try ledger.export(format) { text in
      buffer.append(contentsOf: text.utf8)
      if buffer.count > 1 << 20 { try flush() }
    }
    try flush()
  }
}

extension ExportFormat: ExpressibleByArgument {}
