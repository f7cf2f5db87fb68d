import ArgumentParser
import CommandSupport
import Foundation
import MapStoreClient
import MapStoreWire

/// What all of a client's commands take.
struct ClientFlags: ParsableArguments {
  @Option(name: [.short, .long], help: "The folder of installed bundles; made if it is not there.")
  var folder = "maps"
  @Option(
    help: ArgumentHelp("The store, such as https://maps.example.com; remembered in the folder.", valueName: "url"))
  var server: String?
  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard let server else { return }
    let address = server.lowercased()
    guard ["http://", "https://"].contains(where: { address.hasPrefix($0) && address.count > $0.count }) else {
      throw ValidationError("--server \(server): must begin with http:// or https://")
    }
  }
}

/// What commands take that download.
struct DownloadFlags: ParsableArguments {
  @Option(help: ArgumentHelp("The most that installed bundles may take together.", valueName: "bytes"))
  var quota: BytesArgument?
  @Option(help: ArgumentHelp("What is to stay free on the disk.", valueName: "bytes"))
  var reserve = BytesArgument(bytes: 64_000_000)
  @Option(help: ArgumentHelp("Files that are loaded at the same time.", valueName: "n"))
  var downloads = 3
  @Option(
    help: ArgumentHelp("How much a kill may cost: a piece that is put on the disk and noted.", valueName: "bytes"))
  var piece = BytesArgument(bytes: 4 << 20)
  @Option(help: ArgumentHelp("The most that each download takes of the network in a second.", valueName: "bytes"))
  var rate: BytesArgument?
  @Option(help: "auto, bar, plain, json or none.")
  var progress: ProgressStyle = .auto

  func validate() throws {
    if !(1...64).contains(downloads) { throw ValidationError("--downloads goes from 1 to 64") }
    if let rate, rate.bytes < 16_384 { throw ValidationError("--rate must be at least 16384") }
    if piece.bytes < 4096 { throw ValidationError("--piece must be at least 4096") }
  }

  var options: OfflineRegionOptions {
    var options = OfflineRegionOptions()
    options.quotaBytes = quota?.bytes
    options.reserveBytes = reserve.bytes
    options.downloadsMax = downloads
    options.pieceBytes = piece.bytes
    options.bytesPerSecondMax = rate?.bytes
    return options
  }
}
