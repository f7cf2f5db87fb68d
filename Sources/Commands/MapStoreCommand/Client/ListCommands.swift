import ArgumentParser
import CommandSupport
import MapStoreClient

/// `mapstore client library`
struct LibraryCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "library", abstract: "Fetches the status of all regions from the map store, and lists them.")
  @OptionGroup var flags: ClientFlags

  func run() async throws {
    let device = try flags.device()
    let regions = try await device.manager.refreshLibrary(from: device.client)
    if flags.json { printJSON(regions) } else { RegionTable.lines(regions).forEach(printLine) }
  }
}

/// `mapstore client list`
struct ListCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists regions without network, as of the last sync, and whether they may be opened.")
  @OptionGroup var flags: ClientFlags

  func run() async throws {
    let device = try flags.device()
    let regions = try device.manager.regions()
    if flags.json {
      printJSON(regions)
      return
    }
    if regions.isEmpty {
      let command = flags.command("library")
      printError("mapstore: \(device.folder) knows no region yet; fetch what is for sale: \(command)")
    }
    RegionTable.lines(regions).forEach(printLine)
    for region in regions where region.installed != nil || !region.packs.isEmpty {
      if let why = text(try device.manager.usability(of: region.id)) { printLine("\(region.id): \(why)") }
    }
  }

  /// Why a region may not be opened without network; nil where it may.
  private func text(_ usability: Usability) -> String? {
    let sync = flags.command("sync")
    return switch usability {
    case .usable: nil
    case .expired: "its grant has expired; run \(sync)"
    case .notOwned: "is not owned by this account"
    case .unknown: "there is no grant; run \(sync)"
    case .clockSetBack(let milliseconds):
      "the clock was set back by \(milliseconds / 3_600_000) hours; set it, or run \(sync)"
    }
  }
}

/// `mapstore client check`
struct CheckCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Compares installed bundles with their SHA-256; damaged ones are removed.")
  @OptionGroup var flags: ClientFlags
  @OptionGroup var progress: ProgressOption
  @Argument(help: ArgumentHelp("The regions; all installed ones unless given.", valueName: "region"))
  var regions: [String] = []

  func run() async throws {
    let device = try flags.device()
    let files = Dictionary(grouping: try device.manager.installed(), by: \.part.region)
    if let missing = regions.first(where: { files[$0] == nil }) {
      throw MapStoreError(
        .unknown, missing, "is not installed in \(device.folder)", remedy: "\(flags.command("list")) shows what is")
    }
    let sizes = files.mapValues { $0.reduce(0) { $0 + $1.bytes } }
    let (names, progress) = (regions.isEmpty ? files.keys.sorted() : regions, progress)
    let total = names.reduce(0) { $0 + (sizes[$1] ?? 0) }
    let note = "what was not compared yet is as it was"
    let damaged = try await device.interruptibly(leaving: note) { device in
      try await progress.showing(WorkProgress.bytes) { printer in
        var damaged: [String] = []
        var before = 0
        for region in names {
          let isWhole = try await device.manager.verify(region) { [before] in printer.show(before + $0, of: total) }
          if !isWhole { damaged.append(region) }
          before += sizes[region] ?? 0
        }
        return damaged
      }
    }
    if flags.json {
      printJSON(damaged)
    } else {
      printLine(
        damaged.isEmpty ? "all intact" : "damaged and removed: \(damaged.joined(separator: ", "))")
    }
    if !damaged.isEmpty { throw ExitCode(.leftUndone) }
  }
}

/// `mapstore client remove`
struct RemoveCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes regions from the disk; they stay owned.")
  @OptionGroup var flags: ClientFlags
  @Argument(help: ArgumentHelp("The regions.", valueName: "region"))
  var regions: [String]

  func run() async throws {
    let device = try flags.device()
    try HereCheck.run(regions, on: device, flags) { $0.installed != nil || !$0.packs.isEmpty || !$0.downloads.isEmpty }
    for region in regions { try await device.manager.uninstall(region) }
    if flags.json {
      printJSON(try device.manager.regions())
    } else {
      printLine("removed \(regions.joined(separator: ", "))")
    }
  }
}

/// `mapstore client pause`
struct PauseCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Pauses a download: sync skips it until get is run for it.")
  @OptionGroup var flags: ClientFlags
  @Argument(help: ArgumentHelp("The regions.", valueName: "region"))
  var regions: [String]

  func run() async throws {
    let device = try flags.device()
    try HereCheck.run(regions, on: device, flags) { !$0.downloads.isEmpty }
    for region in regions { try await device.manager.pause(region) }
    if flags.json {
      printJSON(try device.manager.regions())
    } else {
      printLine("paused \(regions.joined(separator: ", ")); \(flags.command("get")) continues it")
    }
  }
}

/// Checks all regions before work begins on the first.
private enum HereCheck {
  /// - Throws: `MapStoreError` `.unknown` for the first region that is not in the folder.
  static func run(
    _ regions: [String], on device: ClientDevice, _ flags: ClientFlags, _ hasSome: (OfflineRegion) -> Bool
  ) throws {
    let here = Set(try device.manager.regions().filter(hasSome).map(\.id))
    guard let missing = regions.first(where: { !here.contains($0) }) else { return }
    throw MapStoreError(
      .unknown, missing, "is neither installed nor downloading in \(device.folder)",
      remedy: "\(flags.command("list")) shows what is")
  }
}
