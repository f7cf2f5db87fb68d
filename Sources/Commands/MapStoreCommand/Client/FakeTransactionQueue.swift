import MapStoreClient
import MapStoreWire
import PurchaseLedger
import Support
import TileIndex

/// The fake store's queue of purchases that were paid but not finished, in the device's folder: `.mapstore-queue.json`.
final class FakeTransactionQueue: StoreQueue {
  private let path: String

  init(folder: String) { path = "\(folder)/.mapstore-queue.json" }

  func outstanding() async throws -> [OutstandingTransaction] { try read() }

  func add(_ transaction: OutstandingTransaction) throws {
    try write(try read().filter { $0.id != transaction.id } + [transaction])
  }

  func finish(_ id: String) async throws { try write(try read().filter { $0.id != id }) }

  private func read() throws -> [OutstandingTransaction] {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch let error as JSONFile.Unreadable where error.isMissing {
      return []
    }
    do {
      return try WireJSON.decode([OutstandingTransaction].self, from: bytes)
    } catch {
      throw FakeStoreFileError(
        description: "\(path): \(error); remove it: what was paid can be restored", fault: .damaged)
    }
  }

  private func write(_ transactions: [OutstandingTransaction]) throws {
    try OutputFile.write(try WireJSON.encode(transactions), to: path, replacing: true)
  }
}
