#if canImport(StoreKit)
  import MapStoreWire
  public import StoreKit

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The App Store's transactions that the app has not finished (StoreKit 2).
  ///
  /// ``OfflineRegionManager/sync(with:queue:onProgress:)`` and ``OfflineRegionManager/submit(_:to:)`` send them to the
  /// map store, and finish each one only when the server says that it is recorded: until then the App Store keeps it,
  /// so that a purchase outlives any crash.
  public struct AppStoreQueue: StoreQueue {
    private let sellsMap: @Sendable (String) -> Bool

    /// The queue of the person who is signed in to the App Store.
    ///
    /// - Parameter sellsMap: whether a product id is of a map; all products unless given. An app that sells other
    ///   things too leaves them out here: the map store would refuse them at every sync.
    public init(where sellsMap: @escaping @Sendable (_ productID: String) -> Bool = { _ in true }) {
      self.sellsMap = sellsMap
    }

    func contains(_ transaction: VerificationResult<Transaction>) -> Bool {
      sellsMap(transaction.unsafePayloadValue.productID)
    }

    /// What is not finished yet, the oldest first. The server checks the signatures, so none are checked here.
    public func outstanding() async throws -> [OutstandingTransaction] {
      var found: [(date: Date, transaction: OutstandingTransaction)] = []
      for await result in Transaction.unfinished where contains(result) {
        let transaction = result.unsafePayloadValue
        let signed = OutstandingTransaction(id: "\(transaction.id)", signed: result.jwsRepresentation)
        found.append((transaction.purchaseDate, signed))
      }
      return found.sorted { $0.date < $1.date }.map(\.transaction)
    }

    /// Finishes a transaction.
    public func finish(_ id: String) async throws {
      for await result in Transaction.unfinished where "\(result.unsafePayloadValue.id)" == id {
        await result.unsafePayloadValue.finish()
      }
    }
  }

  /// What came of ``OfflineRegionManager/buy(_:from:queue:)``.
  public enum AppStorePurchase: Sendable {
    /// The App Store has sold it, and these are the answers of the map store; one that is still open is submitted again
    /// by the next sync.
    case bought([SyncReport.Purchase])
    /// It waits for somebody's approval, and arrives through ``OfflineRegionManager/followAppStore(_:queue:onError:)``
    /// later.
    case pending
    /// The person has changed their mind.
    case cancelled
  }

  extension OfflineRegionManager {
    /// Buys a product for the account that is signed in, and submits the purchase.
    ///
    /// - Parameter queue: what is submitted: a queue of the app's maps.
    /// - Throws: StoreKit's errors; ``MapStoreError`` as ``submit(_:to:)``. What was paid stays in the queue.
    public func buy(
      _ product: Product, from client: StoreClient, queue: AppStoreQueue = AppStoreQueue()
    ) async throws -> AppStorePurchase {
      let account = try await client.account()
      var options: Set<Product.PurchaseOption> = []
      if let token = UUID(uuidString: account.appAccountToken) { options.insert(.appAccountToken(token)) }
      switch try await product.purchase(options: options) {
      case .success: return .bought(try await submit(queue, to: client))
      case .pending: return .pending
      case .userCancelled: return .cancelled
      @unknown default: return .pending
      }
    }

    /// Submits transactions that arrive outside of a purchase: approvals, other devices, offers. Runs until its task is
    /// cancelled; an app begins it when it starts.
    ///
    /// - Parameters:
    ///   - queue: what is submitted: a queue of the app's maps.
    ///   - onError: called on any thread with each failure. What failed is submitted by the next sync.
    public func followAppStore(
      _ client: StoreClient, queue: AppStoreQueue = AppStoreQueue(),
      onError: @escaping @Sendable (any Error) -> Void = { _ in }
    ) async {
      for await transaction in Transaction.updates where queue.contains(transaction) {
        do {
          _ = try await submit(queue, to: client)
        } catch {
          onError(error)
        }
      }
    }
  }
#endif
