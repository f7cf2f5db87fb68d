import Foundation
import MapStoreClient
import MapStoreWire
import Synchronization

/// A device's process that tests kill: installs a region, and kills itself (-9) as a step of it has been made.
///
///     CatalogProbe FOLDER ADDRESS TOKEN REGION [STEP [TIMES]]
///
/// The region `library` asks for the library alone, and says how many regions it has.
///
/// STEP is a number of `InstallStep`; 0 never kills. With TIMES it dies as the step is made for that time.
@main
struct CatalogProbe {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count >= 5 else { exit(64) }
    let step = arguments.count > 5 ? Int(arguments[5]) ?? 0 : 0
    let left = Mutex(arguments.count > 6 ? Int(arguments[6]) ?? 1 : 1)
    var options = OfflineRegionOptions()
    options.pieceBytes = 16 << 10
    options.reserveBytes = 0
    options.retry.firstDelay = 0.01
    options.onStep = { made in
      guard made.rawValue == step,
        left.withLock({
          $0 -= 1
          return $0
        }) == 0
      else { return }
      kill(getpid(), SIGKILL)
    }
    let session = SessionDetails(
      token: arguments[3], expiresAt: .max, account: AccountDetails(id: "a", appAccountToken: "t"))
    do {
      let client = try StoreClient(address: arguments[2], session: StoreSession(session), retry: options.retry)
      let catalog = try OfflineRegionManager(folder: arguments[1], options: options, grants: .init())
      if arguments[4] == "library" {
        _ = try await catalog.refreshLibrary(from: client)
        print(try catalog.regions().count, "regions")
        exit(0)
      }
      let file = try await catalog.install(arguments[4], from: client)
      print(file.edition, file.sha256)
      exit(0)
    } catch {
      print("\(error)")
      exit(1)
    }
  }
}
