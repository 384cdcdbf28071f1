// The part of ECharts that reports use. What is not named here is not in the file.
export { init } from "echarts/core";
import { use } from "echarts/core";
import { CustomChart, LineChart } from "echarts/charts";
import { DataZoomInsideComponent, GridComponent, TooltipComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

use([CustomChart, LineChart, DataZoomInsideComponent, GridComponent, TooltipComponent, SVGRenderer]);
