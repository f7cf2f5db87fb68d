import MapStoreClient
import RegionCatalog
import TileIndex

/// What a client's process tells its caller, beside the statuses of `serve`.
enum ClientExitStatus {
  /// Something that was asked for is left undone; the output says what.
  static let leftUndone: Int32 = 1

  private static let codes: [MapStoreError.Code: Int32] = [
    .damaged: 65, .grant: 65, .unknown: 66, .unreachable: 69, .noSpace: 73, .overQuota: 73, .shelf: 74, .busy: 75,
    .refused: 76, .editionGone: 76, .signedOut: 77, .notOwned: 77, .paused: 1,
  ]

  /// The status for an error of the client's; nil for others'.
  static func status(of error: any Error) -> Int32? {
    switch error {
    case let error as MapStoreError: codes[error.code] ?? 70
    case let error as BundleError: [.notFound, .readFailed].contains(error.code) ? 66 : 74
    case let error as TrackError: error.isUnreadable ? 66 : 65
    case let error as StoreKeyError: error.isUnreadable ? 66 : 65
    default: nil
    }
  }
}
