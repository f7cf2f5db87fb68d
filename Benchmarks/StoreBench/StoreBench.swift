import Foundation
import PurchaseLedger

/// The load generator of scripts/bench-store.sh, which measures `mapstore serve`: a generated map store, its customers
/// and buyers.
///
///     StoreBench prepare FOLDER COUNT          a catalogue of 170 regions, one of them of 100 MB; an empty ledger;
///                                              COUNT signed purchases, at least 5,000
///     StoreBench customers FOLDER PORT COUNT   accounts that own twenty regions each; sessions go to FOLDER/tokens
///     StoreBench questions FOLDER COUNT        COUNT different library requests; go to FOLDER/questions with their
///                                              sessions
///     StoreBench links FOLDER PORT COUNT       links to the large bundle; their paths go to FOLDER/links
///     StoreBench buy FOLDER PORT CONNECTIONS   posts the purchases one by one; acknowledged ones go to
///                                              FOLDER/acknowledged
///     StoreBench check FOLDER                  checks that the ledger has all acknowledged purchases, and verifies it
@main
struct StoreBench {
  static func main() {
    do {
      try run()
    } catch {
      // An error thrown by `main` would trap.
      try? FileHandle.standardError.write(contentsOf: Data("StoreBench: \(error)\n".utf8))
      exit(2)
    }
  }

  private static func run() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    let numbers = words.dropFirst(2).compactMap { Int($0) }
    switch (words.first, words.count, numbers.count) {
    case ("prepare", 3, 1): try BenchStore.make(in: words[1], purchases: numbers[0])
    case ("customers", 4, 2): try Customers(folder: words[1], port: numbers[0]).register(numbers[1])
    case ("questions", 3, 1): try Customers(folder: words[1], port: 0).writeQuestions(numbers[0])
    case ("links", 4, 2): try Customers(folder: words[1], port: numbers[0]).fetchLinks(numbers[1])
    case ("buy", 4, 2): try Buyers(folder: words[1], port: numbers[0]).run(connections: numbers[1])
    case ("check", 2, 0): try check(words[1])
    default: throw Failure(description: "usage: StoreBench prepare|customers|questions|links|buy|check FOLDER NUMBERS")
    }
  }

  struct Failure: Error, CustomStringConvertible { let description: String }

  /// Checks that every acknowledged transaction is granted, and that the ledger verifies.
  private static func check(_ folder: String) throws {
    let ledger = try Ledger.open(at: "\(folder)/ledger.sqlite", policy: nil, clock: .system)
    let lines = try String(contentsOfFile: "\(folder)/acknowledged", encoding: .utf8).split(separator: "\n")
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      let key = TransactionKey(store: .apple, environment: .production, id: words[0])
      guard let entitlement = try ledger.entitlement(of: key), entitlement.status == .active,
        entitlement.account?.description == words[1]
      else { throw Failure(description: "transaction \(words[0]) was acknowledged, and is not granted") }
    }
    guard try ledger.verify().isClean else { throw Failure(description: "the ledger does not verify") }
    print("all \(lines.count) that were acknowledged are granted in the ledger, whose chain is whole")
  }
}
