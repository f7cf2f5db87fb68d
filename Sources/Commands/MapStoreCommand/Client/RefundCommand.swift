import ArgumentParser
import CommandSupport
import MapStoreClient
import MapStoreWire
import TileIndex

/// `mapstore client refund`
struct RefundCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refund",
    abstract: "Has the made-up app store give the money back for regions, for tests and demonstrations.",
    discussion: """
      As a real one does, the store tells the shop's server with a signed notification (/v1/notifications/apple); whoever bought the region need not be there. What was sold, and \
      given back, stands in the store's book, FILE.book.jsonl, which purchase-ledger reconcile --store reads.
      """)
  @OptionGroup var flags: ClientFlags
  @Option(help: ArgumentHelp("The made-up store's keys.", valueName: "file"))
  var storeKey: String
  @Argument(help: ArgumentHelp("The regions.", valueName: "region"))
  var regions: [String]

  func run() async throws {
    let store = try MadeUpStore(keyFile: storeKey)
    let device = try flags.device()
    let account = try await device.client.account()
    for id in regions {
      let product = try await device.client.region(id).region.productId
      guard let notification = try store.refund(product, of: account.appAccountToken) else {
        throw ValidationError("the made-up store has sold \(id) to nobody of this account")
      }
      try await device.client.notify(apple: notification)
      if !flags.json { printLine("\(id): the money was given back, and the shop was told") }
    }
    try await device.shelf.refreshLibrary(from: device.client)
    if flags.json { printJSON(try device.shelf.regions()) }
  }
}
