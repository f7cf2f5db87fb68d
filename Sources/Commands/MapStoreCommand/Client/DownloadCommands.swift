import ArgumentParser
import CommandSupport
import MapStoreClient
import MapStoreWire
import RegionCatalog
import TileIndex

/// `mapstore client get`
struct GetCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Installs or updates regions, and continues interrupted downloads.",
    discussion: """
      Examples:
        mapstore client get park
        mapstore client get park coast --quota 2GB
      """)
  @OptionGroup(title: "Device and store") var flags: ClientFlags
  @OptionGroup(title: "Downloads") var download: DownloadFlags
  @Argument(help: ArgumentHelp("The regions.", valueName: "region"))
  var regions: [String]

  func run() async throws {
    let device = try flags.device(download.options)
    let regions = regions
    let results = try await download.showing(on: device) { device, printer in
      await withTaskGroup(of: (Int, Result<InstalledFile, any Error>).self) { group in
        for (index, region) in regions.enumerated() {
          group.addTask {
            do {
              return (
                index, .success(try await device.manager.install(region, from: device.client) { printer.show($0) })
              )
            } catch {
              return (index, .failure(error))
            }
          }
        }
        var results: [(Int, Result<InstalledFile, any Error>)] = []
        for await result in group { results.append(result) }
        return results.sorted { $0.0 < $1.0 }.map(\.1)
      }
    }
    let files = results.compactMap { try? $0.get() }
    if flags.json {
      printJSON(files)
    } else {
      for file in files { printLine("\(file.part) \(file.edition): installed, \(RegionTable.size(file.bytes))") }
    }
    try Self.failures(results)
  }

  /// Prints all failures but the first, and throws that.
  static func failures(_ results: [Result<InstalledFile, any Error>]) throws {
    var failures: [any Error] = []
    for result in results {
      if case .failure(let error) = result { failures.append(error) }
    }
    if let signal = SignalWatch.process.received {
      printError("mapstore: interrupted; what was downloaded is kept, and sync continues it")
      throw ExitCode(.signal(signal))
    }
    for error in failures {
      guard let error = error as? MapStoreError, !error.suggestions.isEmpty else { continue }
      let list = error.suggestions.map { "\($0.region) (\(RegionTable.size($0.bytes)))" }.joined(separator: ", ")
      printError("mapstore: least recently used: \(list)")
    }
    for error in failures.dropFirst() { printError("mapstore: \(error)") }
    if let first = failures.first { throw first }
  }
}

/// `mapstore client around`
struct AroundCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "around", abstract: "Installs the packs of a region that a place, a box or a track needs.",
    discussion: """
      Examples:
        mapstore client around park --point -110.5,44.6
        mapstore client around park --track hike.gpx
      """)
  @Argument(help: "The region.")
  var region: String
  @OptionGroup(title: "Area") var area: Area
  @OptionGroup(title: "Device and store") var flags: ClientFlags
  @OptionGroup(title: "Downloads") var download: DownloadFlags

  /// One place, box or track.
  struct Area: ParsableArguments {
    // Unconditional: the western hemisphere begins with a dash.
    @Option(
      parsing: .unconditional, help: ArgumentHelp("A place: longitude and latitude in degrees.", valueName: "LON,LAT"))
    var point: String?
    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("A box in degrees; a west beyond the east crosses the antimeridian.", valueName: "W,S,E,N"))
    var bounds: String?
    @Option(
      help: ArgumentHelp("A GPX or GeoJSON file with tracks, routes or places.", valueName: "file"), completion: .file()
    )
    var track: String?

    func validate() throws {
      guard [point, bounds, track].count(where: { $0 != nil }) == 1 else {
        throw ValidationError("give one of --point, --bounds and --track")
      }
      if let point, Self.numbers(point, 2) == nil {
        throw ValidationError("--point is no longitude and latitude: \(point)")
      }
      if let bounds, Self.numbers(bounds, 4).map({ $0[1] > $0[3] }) ?? true {
        throw ValidationError("--bounds is no west, south, east and north: \(bounds)")
      }
    }

    private static func numbers(_ text: String, _ count: Int) -> [Double]? {
      let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard numbers.count == count, !numbers.contains(nil) else { return nil }
      let values = numbers.map { $0! }
      let isOnEarth = values.enumerated().allSatisfy { abs($1) <= ($0 % 2 == 0 ? 360 : 90) }
      return isOnEarth ? values : nil
    }

    func ground() throws -> MapGround {
      if let track { return .track(try Track(path: track)) }
      if let numbers = point.flatMap({ Self.numbers($0, 2) }) {
        return .point(longitude: numbers[0], latitude: numbers[1])
      }
      let box = bounds.flatMap { Self.numbers($0, 4) } ?? []
      return .box(BoundingBox(west: box[0], south: box[1], east: box[2], north: box[3]))
    }
  }

  func run() async throws {
    let ground = try area.ground()
    let device = try flags.device(download.options)
    let (region, isJSON) = (region, flags.json)
    let files = try await download.showing(on: device) { device, printer in
      try await device.manager.install(
        region, around: ground, from: device.client, onProgress: { printer.show($0) },
        onInstalled: { file in
          printer.finish()
          if !isJSON { printLine("\(file.part) \(file.edition): installed, \(RegionTable.size(file.bytes))") }
        })
    }
    if isJSON { printJSON(files) }
    if files.isEmpty {
      printError("mapstore: \(region) does not cover that area")
      throw ExitCode(.leftUndone)
    }
  }
}
