import Accounts
import ArgumentParser
import CommandSupport
import LibC
import PurchaseLedger
import Support

/// `purchase-ledger merge`
struct MergeLedgerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge",
    abstract: "Brings the evidence and accounts of another ledger, a spool or an export into this ledger.",
    discussion: """
      Reads another ledger, the .spool file beside one, or what export --evidence wrote. After a restore of a backup \
      it brings back what was recorded since, and erases again what was erased since. All evidence is verified again. \
      Conflicts (a login or a purchase of two accounts) are printed, and the ledger keeps its own. Exits with 1 when \
      there are any, or evidence was refused.

      Examples:
        purchase-ledger merge damaged/ledger.sqlite.spool --config ledger.json
      """)

  @Argument(help: ArgumentHelp("Ledgers, spools or exports, the oldest first.", valueName: "file"), completion: .file())
  var files: [String]
  @OptionGroup var progress: ProgressOption
  @OptionGroup(title: "Ledger") var options: CommonOptions
  @OptionGroup(title: "App") var evidence: EvidenceOptions

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let own = FileIdentity(path: Ledger.spoolPath(of: settings.ledgerPath))
    let isOwnSpool = files.allSatisfy { own != nil && FileIdentity(path: $0) == own }
    let ledger = try Ledger.open(at: settings.ledgerPath, policy: nil, clock: settings.clock, spools: !isOwnSpool)
    defer { ledger.close() }
    let identity = try settings.identity(for: ledger)
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity, clock: settings.clock,
      defaults: .init(describesBooked: false, changesAccounts: true, mergeBase: try ledger.lastEvent))
    var counts: [Booking.Outcome: Int] = [:]
    try await progress.showing("pieces") { printer in
      for file in files {
        let source = try EvidenceSource(file, beside: ledger, clock: settings.clock)
        try await importer.run([source.path]) { lines in
          for var line in lines {
            line.source = file
            counts[line.booking.outcome, default: 0] += 1
            let complaint = options.json ? ImportText.json(line).text : ImportText.complaint(line)
            guard let complaint else { continue }
            printer.finish()
            printLine(complaint)
          }
        } progress: {
          printer.show($0.pieces, bytes: $0.bytes, of: $0.bytesTotal)
        }
        source.close()
      }
    }
    if !options.json { printLine(ImportText.summary(counts)) }
    if counts[.refused, default: 0] + counts[.quarantined, default: 0] > 0 { throw ExitCode(.found) }
  }
}

/// A file of lines, or another ledger, whose lines are written into a temporary file without a name.
private struct EvidenceSource {
  let path: String
  private let descriptor: Int32?

  init(_ file: String, beside ledger: Ledger, clock: LedgerClock) throws {
    guard (try? ReadOnlyFile(file).bytes(at: 0, count: 16))?.starts(with: Array("SQLite format 3".utf8)) == true else {
      (path, descriptor) = (file, nil)
      return
    }
    guard FileIdentity(path: file) != FileIdentity(path: ledger.path) else {
      throw LedgerError(.input, at: file, "is the ledger itself", remedy: "name another one, or its spool")
    }
    let other = try Ledger.openToRead(at: file, clock: clock)
    defer { other.close() }
    let name = "\(FileSystem.temporaryFolder)/purchase-ledger-merge-\(FileSystem.processID)"
    let descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw LedgerError(
        .input, at: name, "cannot be written: \(FileSystem.SystemError(number: errno))",
        remedy: "name another folder for temporary files with TMPDIR")
    }
    unlink(name)
    var buffer: [UInt8] = []
    func flush() throws {
      try buffer.withUnsafeBytes { try FileSystem.write($0, to: descriptor) }
      buffer.removeAll(keepingCapacity: true)
    }
    _ = try other.exportEvidence { line in
      buffer += line
      if buffer.count > 1 << 20 { try flush() }
    }
    try flush()
    lseek(descriptor, 0, SEEK_SET)
    self.descriptor = descriptor
    path = "/dev/fd/\(descriptor)"
  }

  func close() { if let descriptor { LibC.close(descriptor) } }
}
