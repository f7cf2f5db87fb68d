import Support

/// In what form a reconciliation is reported.
public enum ReconcileFormat: String, Sendable, CaseIterable { case text, json, csv }

/// Writes a reconciliation: hand it every line, then the report.
///
/// JSON and CSV are written as the lines come, in constant memory; the text groups them by class and shows of each at most
/// `groupLinesMax`.
public struct ReconcileWriter: ~Copyable {
  /// Differences of one class that the text shows; their number is always the true one.
  public static let groupLinesMax = 10_000

  private let format: ReconcileFormat
  private let write: (String) throws -> Void
  private var groups: [ReconcileClass: [String]] = [:]
  private var written = 0

  public init(_ format: ReconcileFormat, to write: @escaping (String) throws -> Void) {
    self.format = format
    self.write = write
  }

  public mutating func add(_ line: ReconcileLine) throws {
    defer { written += 1 }
    switch format {
    case .text:
      if groups[line.class, default: []].count < Self.groupLinesMax {
        groups[line.class, default: []].append(line.text)
      }
    case .json: try write((written == 0 ? "{\"differences\":[\n" : ",\n") + line.json.text)
    case .csv: try write((written == 0 ? ReconcileLine.csvHeader : "") + line.csv)
    }
  }

  public mutating func finish(_ report: ReconcileReport) throws {
    switch format {
    case .text:
      for kind in ReconcileClass.allCases where report[kind] > 0 && kind != .matched {
        try write("\(kind.heading) (\(report[kind])):\n\n")
        for text in groups[kind] ?? [] { try write(text + "\n") }
        let more = report[kind] - (groups[kind]?.count ?? 0)
        if more > 0 { try write("... and \(more) more: --report json or csv lists them all\n\n") }
      }
      try write(report.text)
    case .json:
      try write((written == 0 ? "{\"differences\":[" : "\n") + "],\n\"summary\":\(report.json.text)}\n")
    case .csv: if written == 0 { try write(ReconcileLine.csvHeader) }
    }
  }
}

extension ReconcileClass {
  fileprivate var heading: String {
    switch self {
    case .matched: "In both books"
    case .storeOnly: "These are in the store's book only"
    case .ownOnly: "These are in our book only"
    case .stateDiffers: "These are in both books, in different states"
    case .accountConflict: "For these the store names another account than our owner"
    case .quarantined: "This evidence is in quarantine"
    }
  }
}
